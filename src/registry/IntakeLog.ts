/**
 * What Intake says in the log, and how often: strangers decide what there is to say, this room decides how much of it is
 * written (R19). It decides nothing about messages.
 */
import { Effect, type Scope } from "effect"
import type { PeerId } from "../identity/PeerId.ts"
import type { Now } from "../time/Reading.ts"
import type { Announcement } from "./Announcement.ts"
import type { Message } from "./Intake.ts"
import type { Known } from "./Known.ts"
import { pacedNeighbours } from "./Limits.ts"
import type { ClockVerdict } from "./OwnClock.ts"
import * as Pace from "./Pace.ts"
import type { Refusal } from "./Refusal.ts"
import * as Reports from "./Reports.ts"

const minuteMillis = 60_000
const hourMillis = 3_600_000
/** Neighbours named in what a minute's flood left unsaid. */
const namedNeighbours = 5

/** One line an hour about one subject. */
const hourly = (linesInAll: number) =>
  Pace.make({ linesPerSubject: 1, linesInAll, windowMillis: hourMillis, maxSubjects: pacedNeighbours })

/** Who handed it over, where it came over a topic. */
const neighbourOf = (message: Message): { readonly neighbour?: PeerId } =>
  "neighbour" in message ? { neighbour: message.neighbour } : {}

const subjectOf = (message: Message) => neighbourOf(message).neighbour ?? "elsewhere"

const reportOf = (message: Message, isKnown: boolean): Reports.Report => ({
  server: message.signer,
  neighbour: subjectOf(message),
  isKnown
})

const heldBackOf = (lines: number) => (lines === 0 ? {} : { held_back: lines })

const bounded = (text: string) => text.slice(0, 200)

export class IntakeLog {
  readonly #rejected = Reports.perNeighbour()
  readonly #ignored = Reports.perNeighbour()
  readonly #defects = Reports.perNeighbour()
  readonly #clocks = Reports.make()
  /** By topic, of which there are two. */
  readonly #twins = hourly(2)
  readonly #contradictory = Reports.make()
  readonly #flapping = Reports.make()
  readonly #ownClock = hourly(2)

  /** The log, and until the scope closes a look each minute at what was held back and nobody asked after. */
  static readonly make: Effect.Effect<IntakeLog, never, Scope.Scope> = Effect.gen(function* () {
    const log = new IntakeLog()
    yield* log.tellHeldBack.pipe(
      Effect.catchCause((cause) => Effect.logError("log summary failed", cause)),
      Effect.delay(minuteMillis),
      Effect.forever,
      Effect.forkScoped
    )
    return log
  })

  /** S22: at each announcement of another server that counts. */
  discovered(words: Announcement, message: Message): Effect.Effect<void> {
    return Effect.logDebug("discovered server").pipe(
      Effect.annotateLogs({
        server_id: words.serverId,
        region: words.region,
        port: words.port,
        healthy: words.healthy,
        uptime_score: words.uptimeScore,
        ...neighbourOf(message)
      })
    )
  }

  /** B03: the message says what time it is where its signer is, and that is too far from here. */
  clockOff(refusal: Refusal, message: Message, isKnown: boolean, at: Now): Effect.Effect<void> {
    const { topic, signer: sender } = message
    const heldBack = this.#clocks.line(reportOf(message, isKnown), at.steadyMillis)
    if (heldBack === undefined) return Effect.void
    return Effect.logWarning("clock of a server is off").pipe(
      Effect.annotateLogs({
        topic,
        sender,
        ...neighbourOf(message),
        reason: refusal.reason,
        detail: refusal.detail,
        ...heldBackOf(heldBack)
      })
    )
  }

  /** F02: a server whose self-checks fail and pass by turns, each of which is followed. */
  flapping({ serverId, verdictChanges }: Known, message: Message, isKnown: boolean, at: Now): Effect.Effect<void> {
    const heldBack = this.#flapping.line(reportOf(message, isKnown), at.steadyMillis)
    if (heldBack === undefined) return Effect.void
    return Effect.logInfo("server is flapping").pipe(
      Effect.annotateLogs({
        server_id: serverId,
        verdict_changes: verdictChanges,
        ...neighbourOf(message),
        ...heldBackOf(heldBack)
      })
    )
  }

  /** S23 for what every reader would refuse; what depends on this server is at DEBUG. */
  refused(refusal: Refusal, message: Message, claimed: PeerId | undefined, at: Now): Effect.Effect<void> {
    const pace = refusal.verdict === "reject" ? this.#rejected : this.#ignored
    const from = neighbourOf(message)
    const heldBack = pace.line(subjectOf(message), at.steadyMillis)
    if (heldBack === undefined) return Effect.void
    const line =
      refusal.verdict === "reject" ? Effect.logWarning("rejected message") : Effect.logDebug("ignored message")
    return line.pipe(
      Effect.annotateLogs({
        topic: message.topic,
        sender: message.signer,
        ...(claimed === undefined || claimed === message.signer ? {} : { claimed_id: claimed }),
        ...from,
        reason: refusal.reason,
        detail: refusal.detail,
        ...heldBackOf(heldBack)
      })
    )
  }

  /** R18. */
  twin(message: Message, at: Now): Effect.Effect<void> {
    if (this.#twins.line(message.topic, at.steadyMillis) === undefined) return Effect.void
    return Effect.logWarning("another server is publishing as this one").pipe(
      Effect.annotateLogs({ topic: message.topic, sender: message.signer, ...neighbourOf(message) })
    )
  }

  /** R18, H03: as an observer sees a twin. */
  contradictory(message: Message, isKnown: boolean, at: Now): Effect.Effect<void> {
    const heldBack = this.#contradictory.line(reportOf(message, isKnown), at.steadyMillis)
    if (heldBack === undefined) return Effect.void
    return Effect.logWarning("two servers seem to publish as one").pipe(
      Effect.annotateLogs({ sender: message.signer, ...neighbourOf(message), ...heldBackOf(heldBack) })
    )
  }

  /** R10. */
  ownClock({ state, byMillis, disagreeing, heard }: ClockVerdict, at: Now): Effect.Effect<void> {
    if (state !== "ahead" && state !== "behind") return Effect.void
    if (this.#ownClock.line(state, at.steadyMillis) === undefined) return Effect.void
    return Effect.logWarning("this server's clock is off").pipe(
      Effect.annotateLogs({ direction: state, by_seconds: Math.round(byMillis / 1_000), disagreeing, heard })
    )
  }

  defect(message: Message, error: string, at: Now): Effect.Effect<void> {
    if (this.#defects.line("", at.steadyMillis) === undefined) return Effect.void
    return Effect.logError("message could not be judged").pipe(
      Effect.annotateLogs({ topic: message.topic, sender: message.signer, error: bounded(error) })
    )
  }

  /** What a flood left unsaid when it ended: the worst neighbours by name, the others in one line. */
  readonly tellHeldBack: Effect.Effect<void> = Effect.suspend(() => {
    this.#ignored.heldBack()
    return Effect.all(
      [
        tellWorst(this.#rejected, Effect.logWarning("more rejected messages, not a fault of this server")),
        tellWorst(this.#clocks, Effect.logWarning("more clocks of servers are off")),
        tellWorst(this.#contradictory, Effect.logWarning("more servers seem to publish as one")),
        tellWorst(this.#flapping, Effect.logInfo("more servers are flapping"))
      ],
      { discard: true }
    )
  })
}

const tellWorst = ({ heldBack }: Pick<Pace.Pace, "heldBack">, line: Effect.Effect<void>): Effect.Effect<void> => {
  const worst = [...heldBack()].sort((left, right) => right.lines - left.lines)
  const named = worst.splice(0, namedNeighbours)
  const others = worst.reduce((sum, { lines }) => sum + lines, 0)
  if (others > 0) named.push({ subject: `${worst.length} others`, lines: others })
  return Effect.forEach(
    named,
    ({ subject, lines }) => Effect.annotateLogs(line, { neighbour: subject, held_back: lines }),
    { discard: true }
  )
}
