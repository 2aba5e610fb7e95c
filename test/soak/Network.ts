/**
 * What is known of a network of servers under troubles: what stage each is in, what it has said of itself, which ways lead
 * from one to another, and what each knows of the others. Nouns alone; times are milliseconds since the run began.
 */

/** How long what is promised to happen may take. */
export interface Graces {
  /** Words on a way that stands, from mouth to list. */
  readonly liveMillis: number
  /** Until a server that has started has its connections and its list. */
  readonly joinMillis: number
  /** Until a way that was lost, or led to a process that stood still, is in use again. */
  readonly healMillis: number
  /** From a change of its database until the server has told its verdict. */
  readonly checkMillis: number
  /** From hearing words until they are kept. */
  readonly keepMillis: number
}

export type Database = "there" | "away" | "unsure"

export type Cause = "never started" | "start" | "goodbye" | "freeze" | "thaw" | "database lost" | "database back"

/** What a server says of itself from a moment on; `either`: no one can tell which of the two. */
export interface Claim {
  readonly verdict: "healthy" | "unhealthy" | "either"
  readonly cause: Cause
  /** It is not said before. */
  readonly fromMillis: number
  /** By then it was said, if nothing else has happened to the server; absent: perhaps never. */
  readonly byMillis: number | undefined
}

/** `left`: ended after its goodbye, which may still be on its way. */
export type Stage = "down" | "starting" | "up" | "stopping" | "left"

export interface Server {
  readonly stage: Stage
  readonly isFrozen: boolean
  /** Whether it was up before it was told to stop. */
  readonly wasUp: boolean
  readonly launchedMillis: number
  readonly endedMillis: number
  /** From when on it surely takes part. */
  readonly clearMillis: number
  /** Since when it runs without standing still. */
  readonly runsMillis: number
  readonly database: Database
  readonly databaseMillis: number
  readonly claims: ReadonlyArray<Claim>
}

/** What one server knows of another, by the numbers of its claims. */
export interface Knowledge {
  /** Ascending in both. */
  readonly sure: ReadonlyArray<{ readonly claim: number; readonly sinceMillis: number }>
  readonly most: number
  /** What is surely in its database. */
  readonly kept: number
}

export interface Link {
  readonly state: "open" | "cut" | "silent"
  /** From when on it surely is in use again. */
  readonly clearMillis: number
  /** When both of its ends last said that it is in use; absent: not since anything happened to it. */
  readonly metMillis: number | undefined
}

export interface State {
  readonly graces: Graces
  readonly nowMillis: number
  readonly servers: ReadonlyArray<Server>
  /** By the server with the smaller number, then by the other. */
  readonly links: ReadonlyArray<ReadonlyArray<Link>>
  /** By who knows, then by who is known. */
  readonly knowledge: ReadonlyArray<ReadonlyArray<Knowledge>>
}

export const nothing: Knowledge = { sure: [], most: 0, kept: 0 }

const unborn: Server = {
  stage: "down",
  isFrozen: false,
  wasUp: false,
  launchedMillis: 0,
  endedMillis: 0,
  clearMillis: 0,
  runsMillis: 0,
  database: "there",
  databaseMillis: 0,
  claims: [{ verdict: "unhealthy", cause: "never started", fromMillis: 0, byMillis: 0 }]
}

/** So many servers, none started yet, with all ways between them open and their databases there. */
export const make = (count: number, graces: Graces): State => {
  const each = <A>(value: A) => Array.from({ length: count }, () => value)
  return {
    graces,
    nowMillis: 0,
    servers: each(unborn),
    links: each(each<Link>({ state: "open", clearMillis: 0, metMillis: undefined })),
    knowledge: each(each(nothing))
  }
}

export const isRunning = ({ stage }: Server) => stage === "starting" || stage === "up" || stage === "stopping"
export const isPresent = ({ stage, isFrozen }: Server) => stage === "up" && !isFrozen
export const isHeard = (server: Server) =>
  !server.isFrozen &&
  (server.stage === "up" || ((server.stage === "stopping" || server.stage === "left") && server.wasUp))

export const linkOf = (state: State, one: number, other: number): Link | undefined =>
  state.links[Math.min(one, other)]?.[Math.max(one, other)]

/** The newest claim that was surely known so long ago, 0 where none was. */
export const sureBy = ({ sure }: Knowledge, millis: number): number =>
  sure.findLast(({ sinceMillis }) => sinceMillis <= millis)?.claim ?? 0

export const learn = (known: Knowledge, claim: number, sinceMillis: number, forgetMillis: number): Knowledge => {
  if (claim <= (known.sure.at(-1)?.claim ?? 0)) return known
  const used = known.sure.findLastIndex((entry) => entry.sinceMillis <= forgetMillis)
  return { ...known, sure: [...known.sure.slice(Math.max(0, used)), { claim, sinceMillis }] }
}

export const mapKnowledge = (
  state: State,
  change: (known: Knowledge, observer: number, subject: number) => Knowledge
): State => ({
  ...state,
  knowledge: state.knowledge.map((row, observer) => row.map((known, subject) => change(known, observer, subject)))
})
