/** A TCP proxy on 127.0.0.1 that a test makes stall, refuse and flow again. */
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { connect, createServer, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

export interface StallingProxy {
  readonly port: number
  /** Accepts, and passes nothing on in either direction, as a network that lost its way. */
  readonly stall: Effect.Effect<void>
  /** Passes on what it held back, and all that follows. */
  readonly flow: Effect.Effect<void>
  /** Cuts what is connected, and accepts nothing. */
  readonly refuse: Effect.Effect<void>
  /** Accepts again, after `refuse`. */
  readonly accept: Effect.Effect<void>
  /** Connections as those who made them see it: open now, and the most that ever were at one time. */
  readonly connections: () => { readonly open: number; readonly most: number }
}

export const make = (target: number): Effect.Effect<StallingProxy, never, Scope.Scope> =>
  Effect.gen(function* () {
    const pairs = new Set<readonly [Socket, Socket]>()
    const clients = new Set<Socket>()
    let held: Array<readonly [to: Socket, chunk: Buffer]> | undefined
    let most = 0

    const server = createServer((client) => {
      const upstream = connect(target, "127.0.0.1")
      const pair = [client, upstream] as const
      pairs.add(pair)
      for (const [from, to] of [pair, [upstream, client] as const]) {
        from.on("data", (chunk) => (held === undefined ? to.write(chunk) : held.push([to, chunk])))
        from.on("error", () => {})
        from.on("close", () => {
          pairs.delete(pair)
          to.destroy()
        })
      }
    })
    const listen = (port: number) =>
      Effect.callback<number>((resume) => {
        server.listen(port, "127.0.0.1", () => {
          const address = server.address()
          resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
        })
      })
    const refuse = Effect.sync(() => {
      server.close()
      for (const socket of [...pairs].flat()) socket.destroy()
    })
    const port = yield* Effect.acquireRelease(listen(0), () => refuse)

    // This end sees a connection close later than it is closed, so the sockets of the other end are counted.
    const open = () => [...clients].filter((socket) => !socket.destroyed).length
    const onSocket = (message: unknown) => {
      const { socket } = message as { readonly socket: Socket }
      socket.once("connect", () => {
        if (socket.remotePort !== port) return
        clients.add(socket)
        most = Math.max(most, open())
      })
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => subscribe("net.client.socket", onSocket)),
      () => Effect.sync(() => unsubscribe("net.client.socket", onSocket))
    )

    return {
      port,
      stall: Effect.sync(() => {
        held ??= []
      }),
      flow: Effect.sync(() => {
        for (const [to, chunk] of held ?? []) to.write(chunk)
        held = undefined
      }),
      refuse,
      accept: Effect.asVoid(Effect.suspend(() => listen(port))),
      connections: () => ({ open: open(), most })
    }
  })
