/**
 * A way to a server or a database that a test cuts and mends: a TCP port of 127.0.0.1 that leads to another. It knows
 * nothing of what passes through it.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

/**
 * `open`: passes everything on. `cut`: what is connected is cut off, and so is who dials. `silent`: connections stay and
 * are taken, and nothing passes, as in a network that lost its way; what was sent meanwhile arrives once it is open.
 */
export type LinkState = "open" | "cut" | "silent"

export interface Link {
  readonly port: number
  /** `deaf`: as `silent`, but only for what the one who dialled says. */
  readonly become: (state: LinkState | "deaf") => Effect.Effect<void>
}

/** A way to this port, also while nobody listens there; open at first. */
export const make = (target: number): Effect.Effect<Link, never, Scope.Scope> =>
  Effect.gen(function* () {
    const sockets = new Set<Socket>()
    const clients = new WeakSet<Socket>()
    let state: LinkState | "deaf" = "open"
    const isHeld = (socket: Socket) => state === "silent" || (state === "deaf" && clients.has(socket))

    const pass = (from: Socket, to: Socket) => {
      sockets.add(from)
      if (isHeld(from)) from.pause()
      from.on("data", (chunk) => void to.write(chunk))
      from.on("error", () => {})
      from.on("close", () => {
        sockets.delete(from)
        to.destroy()
      })
    }
    const server = createServer({ noDelay: true }, (client) => {
      if (state === "cut") {
        client.on("error", () => {}).resetAndDestroy()
        return
      }
      const upstream = connect({ port: target, host: "127.0.0.1", noDelay: true })
      clients.add(client)
      pass(client, upstream)
      pass(upstream, client)
    })
    const become = (next: LinkState | "deaf") =>
      Effect.sync(() => {
        state = next
        for (const socket of sockets) {
          if (state === "cut") socket.destroy()
          else if (isHeld(socket)) socket.pause()
          else socket.resume()
        }
      })
    const port = yield* Effect.acquireRelease(
      Effect.callback<number>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
      }),
      () =>
        Effect.andThen(
          become("cut"),
          Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
        )
    )
    return { port, become }
  })
