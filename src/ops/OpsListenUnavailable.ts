/** The one way in which the ops listener fails a start, with what to do about it. */
import { Schema } from "effect"

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE:
    "the port is in use by another process; stop that one, or choose another port with ops.port or --ops-port",
  EACCES: "this user may not listen there; choose a port above 1023 with ops.port or --ops-port",
  EADDRNOTAVAIL: "this machine has no such address; set ops.bind to one that it has",
  ENOTFOUND: "that name has no address; set ops.bind to an address of this machine"
}

/** The ops listener could not be opened. Exit code 69 (R23, M01). */
export class OpsListenUnavailable extends Schema.TaggedError<OpsListenUnavailable>()("OpsListenUnavailable", {
  bind: Schema.String,
  port: Schema.Int,
  cause: Schema.Defect()
}) {
  get exitCode() {
    return 69
  }
  override get message() {
    const code = this.cause instanceof Error && "code" in this.cause ? String(this.cause.code) : ""
    const reason = reasons[code] ?? (this.cause instanceof Error ? this.cause.message : String(this.cause))
    return `ops HTTP cannot listen on ${authority(this.bind, this.port)}: ${reason}`
  }
}

const authority = (host: string, port: number) => `${host.includes(":") ? `[${host}]` : host}:${port}`
