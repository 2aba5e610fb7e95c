/** What only shows when settings are seen together: contradictions, and combinations that are probably not meant. */
import { isIP } from "node:net"
import { Duration } from "effect"
import type { Warning } from "./Entry.ts"
import type { Path, Values } from "./Keys.ts"

/** Two settings that exclude each other. */
export interface Contradiction {
  readonly paths: ReadonlyArray<Path>
  /** All settings that it follows from. */
  readonly follows: ReadonlyArray<Path>
  readonly found: string
  readonly allowed: string
}

export const contradiction = (values: Values): Contradiction | undefined => {
  const port = values["ops.port"]
  const isShared =
    port !== 0 &&
    port === values["server.port"] &&
    values["ops.enabled"] &&
    values["server.listen_addresses"].length === 0
  return isShared
    ? {
        paths: ["server.port", "ops.port"],
        follows: ["server.port", "ops.port", "ops.enabled", "server.listen_addresses"],
        found: `server.port and ops.port are both ${port}`,
        allowed: "two ports, or 0 for a free one"
      }
    : undefined
}

/** Addresses set aside for documentation (RFC 5737, RFC 3849): nobody can be reached there. */
const documentation = /^\/ip4\/(192\.0\.2|198\.51\.100|203\.0\.113)\.|^\/ip6\/2001:0?db8:/i

const warning = (message: string, facts: Warning["facts"] = {}): Warning => ({ message, facts })

export const warnings = (values: Values): ReadonlyArray<Warning> => {
  const found: Array<Warning> = []
  const healthCheck = Duration.toMinutes(values["intervals.health_check_min"])
  if (healthCheck > 60) {
    found.push(
      warning("intervals.health_check_min is long: other servers stop listing one that is silent for 120 minutes", {
        minutes: String(healthCheck)
      })
    )
  }
  const announcement = Duration.toSeconds(values["intervals.service_announcement_min"])
  if (announcement < 5) {
    found.push(
      warning("intervals.service_announcement_min is short: other servers count at most 12 announcements a minute", {
        seconds: String(announcement)
      })
    )
  }
  if (values["features.enable_authentication"] && values["security.trusted_peers"].length === 0) {
    found.push(
      warning("features.enable_authentication is true and security.trusted_peers is empty: no peer may connect")
    )
  }
  if (!values["features.enable_authentication"] && values["security.trusted_peers"].length > 0) {
    found.push(warning("security.trusted_peers has no effect while features.enable_authentication is false"))
  }
  if (Duration.isGreaterThanOrEqualTo(values["ops.drain_delay"], values["ops.shutdown_timeout"])) {
    found.push(
      warning("ops.drain_delay is cut short: a stop as a whole ends within ops.shutdown_timeout", {
        drain_delay: Duration.format(values["ops.drain_delay"]),
        shutdown_timeout: Duration.format(values["ops.shutdown_timeout"])
      })
    )
  }
  const placeholders = values["server.external_addresses"].filter((address) => documentation.test(address))
  if (placeholders.length > 0) {
    found.push(
      warning("server.external_addresses holds addresses set aside for documentation: nobody can dial them", {
        addresses: placeholders.join(", ")
      })
    )
  }
  const bind = values["ops.bind"]
  const isLoopback = bind === "localhost" || bind === "::1" || (isIP(bind) === 4 && bind.startsWith("127."))
  if (values["ops.enabled"] && !isLoopback) {
    found.push(warning("the ops listener is reachable from other machines, and asks nobody who they are", { bind }))
  }
  return found
}
