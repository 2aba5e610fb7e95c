/** Servers of this project in processes of their own, on one PostgreSQL, with a reader at the list of each. */
import { Effect, Fiber, Redacted } from "effect"
import { launch } from "../process/ServerProcess.ts"
import type { Server as Postgres } from "../storage/PostgresServer.ts"
import * as StallingProxy from "../storage/StallingProxy.ts"
import { quiet } from "./Figures.ts"
import { type ListReader, read } from "./ListReader.ts"

export interface Member {
  readonly peerId: string
  readonly address: string
  readonly list: ListReader
}

/** What one newcomer's life is measured by: milliseconds each. */
export interface Life {
  /** From its first connection, and from its own `registry started`, until it lists all others. */
  readonly listsFromConnection: number
  readonly listsFromStart: number
  /** From the same moments until all others list it. */
  readonly listedFromConnection: number
  readonly listedFromStart: number
  /** From its failed self-check until it is in nobody's list. */
  readonly failure: number
  /** From SIGTERM until it is in nobody's list. */
  readonly goodbye: number
}

const longest = "60 seconds"
const now = Effect.sync(() => performance.now())

const settings = (postgres: Postgres, port: number) => ({
  RICOCHET_DATABASE_HOST: "127.0.0.1",
  RICOCHET_DATABASE_PORT: String(port),
  RICOCHET_DATABASE_NAME: postgres.settings.name,
  RICOCHET_DATABASE_USERNAME: postgres.settings.username,
  RICOCHET_DATABASE_SSLMODE: "disable",
  RICOCHET_DATABASE_POOL_SIZE: "2",
  RICOCHET_PG_PASSWORD: postgres.settings.password === undefined ? "" : Redacted.value(postgres.settings.password)
})

const bootstrapTo = (member: Member | undefined) => (member === undefined ? [] : ["--bootstrap", member.address])

/** The moment at which a line of its log arrives here. */
const when = (server: Effect.Success<ReturnType<typeof launch>>, message: string) =>
  Effect.andThen(server.log(message, undefined, longest), now)

const reach = Effect.fnUntraced(function* (server: Effect.Success<ReturnType<typeof launch>>) {
  const { url } = yield* server.log("ops listening", undefined, longest)
  const list = yield* read(String(url))
  return { list, url: String(url) }
})

const identify = (url: string) =>
  Effect.promise(async () => {
    const { self } = (await (await fetch(`${url}/services?limit=1`)).json()) as {
      readonly self: { readonly server_id: string; readonly addresses: ReadonlyArray<string> }
    }
    return { peerId: self.server_id, address: self.addresses[0] ?? "" }
  })

/** One more server, up until the scope closes, that starts from the first. */
export const join = Effect.fnUntraced(function* (postgres: Postgres, members: ReadonlyArray<Member>) {
  const server = yield* launch({
    args: bootstrapTo(members[0]),
    env: settings(postgres, postgres.port),
    withoutData: true
  })
  const { list, url } = yield* reach(server)
  yield* server.log("registry started", undefined, longest)
  const member: Member = { ...(yield* identify(url)), list }
  yield* listedByAll(members, member.peerId)
  return member
})

const last = (moments: ReadonlyArray<number>) => Math.max(...moments)

const listedByAll = (members: ReadonlyArray<Member>, peerId: string) =>
  Effect.map(
    Effect.all(
      members.map(({ list }) => list.until((available) => available.has(peerId))),
      { concurrency: "unbounded" }
    ),
    last
  )

const listedByNone = (members: ReadonlyArray<Member>, peerId: string) =>
  Effect.map(
    Effect.all(
      members.map(({ list }) => list.until((available) => !available.has(peerId))),
      { concurrency: "unbounded" }
    ),
    last
  )

/** A newcomer from its first connection to its end. It checks itself every second, so that a failure is seen soon. */
export const live = Effect.fnUntraced(function* (postgres: Postgres, members: ReadonlyArray<Member>) {
  const life = Effect.gen(function* () {
    const database = yield* StallingProxy.make(postgres.port)
    const env = { ...settings(postgres, database.port), RICOCHET_INTERVALS_HEALTH_CHECK_MIN: "0.02" }
    const server = yield* launch({ args: bootstrapTo(members[0]), env, withoutData: true })
    const connecting = yield* Effect.forkChild(when(server, "bootstrap peer connected"), { startImmediately: true })
    const starting = yield* Effect.forkChild(when(server, "registry started"), { startImmediately: true })
    const { list, url } = yield* reach(server)
    const everybody = members.map(({ peerId }) => peerId)
    const listsAll = yield* list.until((available) => everybody.every((member) => available.has(member)))
    const { peerId } = yield* identify(url)
    const listed = yield* listedByAll(members, peerId)
    const [connected, started] = [yield* Fiber.join(connecting), yield* Fiber.join(starting)]

    yield* quiet
    yield* database.refuse
    const failed = yield* when(server, "self-check failed")
    const gone = yield* listedByNone(members, peerId)
    yield* database.accept
    yield* listedByAll(members, peerId)

    yield* quiet
    const told = yield* now
    yield* server.signal("SIGTERM")
    const left = yield* listedByNone(members, peerId)
    yield* server.ending
    return {
      listsFromConnection: listsAll - connected,
      listsFromStart: listsAll - started,
      listedFromConnection: listed - connected,
      listedFromStart: listed - started,
      failure: gone - failed,
      goodbye: left - told
    } satisfies Life
  })
  return yield* Effect.scoped(life)
})
