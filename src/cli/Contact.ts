/**
 * The server that a command asks, and what is said when no answer comes. What is asked, and what is made of the answer,
 * is the command's business.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Schema } from "effect"
import { HttpClientError } from "effect/http"
import { causeChain, textOf } from "../logging/FactText.ts"
import { inert } from "../logging/InertText.ts"
import { OpsClient } from "../ops/OpsClient.ts"
import { InternalFailure, InvalidParameter } from "../ops/Problem.ts"
import { version } from "../ops/Version.ts"

/** What to do where nobody answers. */
export const whereToAsk = 'start it with "ricochet", or say where it is with --url, --ops-port or --config'

/** Nobody answers at the URL. Exit code 1. */
export class NoAnswer extends Schema.TaggedError<NoAnswer>()("NoAnswer", {
  url: Schema.String,
  problem: Schema.String
}) {
  readonly exitCode = 1
  override get message() {
    return `no server answers at ${this.url}: ${this.problem}; ${whereToAsk}`
  }
}

/** What answers at the URL gives no answer to go by. Exit code 1. */
export class StrangeAnswer extends Schema.TaggedError<StrangeAnswer>()("StrangeAnswer", {
  url: Schema.String,
  problem: Schema.String
}) {
  readonly exitCode = 1
  override get message() {
    return `asked ${this.url}: ${this.problem}`
  }
}

/** The server says what is wrong with what it was asked. Exit code 2. */
export class BadQuestion extends Schema.TaggedError<BadQuestion>()("BadQuestion", { problem: Schema.String }) {
  readonly exitCode = 2
  override get message() {
    return this.problem
  }
}

/** What every question may fail with, and what is made of it. */
type Failure = HttpClientError.HttpClientError | Schema.SchemaError | InternalFailure | InvalidParameter
export type Explained = NoAnswer | StrangeAnswer | BadQuestion

export interface Contact {
  /** Such as `http://127.0.0.1:9090`. */
  readonly url: string
  /** Asks, and says in one line why there is no answer within 10 seconds. */
  ask<A, E>(
    question: (client: OpsClient["Service"]) => Effect.Effect<A, E | Failure>
  ): Effect.Effect<A, Exclude<E, Failure> | Explained>
  /** Fails with what went wrong, in one line. */
  explain<E>(error: E | Failure): Effect.Effect<never, Exclude<E, Failure> | Explained>
}

/** A server that takes longer is as good as none. */
const patience = "10 seconds"

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection was cut",
  EHOSTUNREACH: "no way to that address",
  ENETUNREACH: "no way to that address",
  ENOTFOUND: "that name has no address",
  ETIMEDOUT: "no answer in time"
}

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : ""

/** Why nothing came over the wire, or no more. */
export const transportProblem = (cause: unknown): string =>
  causeChain(cause)
    .map((error) => reasons[codeOf(error)])
    .find((reason) => reason !== undefined) ?? oneLine(textOf(cause))

const oneLine = (text: string) => inert(text.replaceAll(/\s+/g, " "), 200)

const notUnderstood = `what answers is no Ricochet server that this command (${version}) understands`

const Details = Schema.fromJsonString(Schema.Struct({ detail: Schema.String }))

/** Of an answer that this command does not know: its status, and what it says of itself. */
const problemOf = ({ response }: HttpClientError.HttpClientError): Effect.Effect<string> =>
  response === undefined
    ? Effect.succeed(notUnderstood)
    : response.text.pipe(
        Effect.flatMap(Schema.decodeUnknownEffect(Details)),
        Effect.match({
          onFailure: () => `${notUnderstood}: status ${response.status}`,
          onSuccess: ({ detail }) => `status ${response.status}: ${oneLine(detail)}`
        })
      )

const isFailure = (error: unknown): error is Failure =>
  error instanceof InvalidParameter ||
  error instanceof InternalFailure ||
  HttpClientError.isHttpClientError(error) ||
  Schema.isSchemaError(error)

const explained = (url: string, error: Failure): Effect.Effect<Explained> => {
  if (error instanceof InvalidParameter) {
    return Effect.succeed(new BadQuestion({ problem: oneLine(error.detail ?? "") }))
  }
  if (error instanceof InternalFailure) {
    return Effect.succeed(new StrangeAnswer({ url, problem: oneLine(error.detail ?? "") }))
  }
  if (!HttpClientError.isHttpClientError(error)) {
    return Effect.succeed(new StrangeAnswer({ url, problem: `${notUnderstood}: ${oneLine(error.message)}` }))
  }
  return error.reason._tag === "TransportError"
    ? Effect.succeed(new NoAnswer({ url, problem: transportProblem(error.reason.cause) }))
    : Effect.map(problemOf(error), (problem) => new StrangeAnswer({ url, problem }))
}

/** Contact with the server at that URL. Nothing is asked of it yet. */
export const make = Effect.fnUntraced(function* (url: string) {
  const client = yield* Effect.provide(OpsClient, OpsClient.layer(url))
  const explain: Contact["explain"] = <E>(error: E | Failure) =>
    isFailure(error) ? Effect.flip(explained(url, error)) : Effect.fail(error as Exclude<E, Failure>)
  const contact: Contact = {
    url,
    explain,
    ask: (question) =>
      question(client).pipe(
        Effect.catch(explain),
        Effect.timeoutOrElse({
          duration: patience,
          orElse: () => Effect.fail(new NoAnswer({ url, problem: `no answer within ${patience}` }))
        })
      )
  }
  return contact
})

/** The way out of this process: Node's own HTTP client, for `fetch` knows ports that it would not ask. */
export const layerHttp = NodeHttpClient.layerNodeHttp
