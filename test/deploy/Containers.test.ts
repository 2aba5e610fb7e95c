/**
 * The image and the Kubernetes objects: held against the program that they run. No engine builds or runs them here;
 * what they name has to be there, and what they run is run.
 */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { parseAllDocuments } from "yaml"
import manifest from "../../package.json" with { type: "json" }
import * as Configuration from "../../src/config/Configuration.ts"
import { keyAt } from "../../src/config/Keys.ts"
import { start, temporaryDirectory } from "../process/ServerProcess.ts"

const run = promisify(execFile)
const root = new URL("../..", import.meta.url).pathname
const deployed = (name: string) => Effect.promise(() => readFile(join(root, "src/deploy", name), "utf8"))

interface Instruction {
  readonly name: string
  readonly value: string
}

/** The instructions of a Dockerfile, each on one line, stage by stage. */
const stagesOf = (dockerfile: string): ReadonlyArray<ReadonlyArray<Instruction>> => {
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .filter(Boolean)
  const stages: Array<Array<Instruction>> = []
  for (const line of lines) {
    const [, name = "", value = ""] = /^([A-Z]+) (.+)$/.exec(line) ?? assert.fail(line)
    if (name === "FROM") stages.push([])
    stages.at(-1)?.push({ name, value })
  }
  return stages
}

const image = Effect.map(deployed("Dockerfile"), (text) => {
  const stages = stagesOf(text)
  assert.strictEqual(stages.length, 2)
  return { build: stages[0] ?? [], final: stages[1] ?? [] }
})

const valuesOf = (stage: ReadonlyArray<Instruction>, name: string) =>
  stage.flatMap((instruction) => (instruction.name === name ? [instruction.value] : []))

const variablesOf = (stage: ReadonlyArray<Instruction>) =>
  Object.fromEntries(valuesOf(stage, "ENV").flatMap((value) => value.split(" ").map((pair) => pair.split("=", 2))))

/** What a server makes of the variables, and of nothing else. */
const configured = Effect.fnUntraced(function* (variables: Readonly<Record<string, string>>) {
  const nowhere = join(yield* temporaryDirectory, "none.yaml")
  return yield* Configuration.load({
    flags: { presets: ["production"], config: undefined, values: {} },
    environment: { ...variables, RICOCHET_DEFAULT_CONFIG: nowhere }
  })
}, Effect.provide(NodeServices.layer))

describe("the image", () => {
  it.effect("is made from what the checkout has, and the build makes the rest", () =>
    Effect.gen(function* () {
      const { build, final } = yield* image
      const kept = (yield* deployed("Dockerfile.dockerignore"))
        .split("\n")
        .flatMap((line) => (line.startsWith("!") ? [line.slice(1)] : []))
      const copied = valuesOf(build, "COPY").flatMap((value) => value.split(" ").slice(0, -1))
      assert.deepStrictEqual(copied, kept)
      assert.deepStrictEqual(
        copied.filter((name) => !existsSync(join(root, name))),
        []
      )
      const made = ["package.json", "node_modules", "dist"].map(
        (name) => `--from=build /build/${name} /opt/ricochet/${name}`
      )
      assert.deepStrictEqual(valuesOf(final, "COPY"), made)
      assert.include(
        valuesOf(final, "RUN")[0],
        `/opt/ricochet/${manifest.bin.ricochet.slice(2)} /usr/local/bin/ricochet`
      )
      for (const script of valuesOf(build, "RUN")
        .join(" ")
        .matchAll(/npm run (\w+)/g)) {
        assert.property(manifest.scripts, script[1] ?? "")
      }
    })
  )

  it.effect("runs a Node that is new enough, as nobody in particular, and is stopped as a server is", () =>
    Effect.gen(function* () {
      const { build, final } = yield* image
      const [base = ""] = valuesOf(final, "FROM")
      assert.strictEqual(valuesOf(build, "FROM")[0], `${base} AS build`)
      const major = Number(/^node:(\d+)-/.exec(base)?.[1])
      assert.isAtLeast(major, Number(/^>=(\d+)/.exec(manifest.engines.node)?.[1]))
      assert.deepStrictEqual(valuesOf(final, "USER"), ["1000:1000"])
      assert.deepStrictEqual(valuesOf(final, "STOPSIGNAL"), ["SIGTERM"])
      assert.deepStrictEqual(valuesOf(final, "ENTRYPOINT"), ['["ricochet"]'])
      assert.deepStrictEqual(valuesOf(final, "CMD"), ['["serve", "--production"]'])
    })
  )

  it.effect("keeps its data on its volume, and exposes the port that it listens on", () =>
    Effect.gen(function* () {
      const { final } = yield* image
      const { settings, warnings } = yield* configured(variablesOf(final))
      assert.deepStrictEqual(warnings, [])
      assert.deepStrictEqual(valuesOf(final, "VOLUME"), [settings.storage.dataDirectory])
      assert.deepStrictEqual(valuesOf(final, "EXPOSE"), [String(settings.server.port)])
      assert.include(valuesOf(final, "RUN")[0], settings.storage.dataDirectory)
    })
  )

  it.live("has a health check that says whether the server answers", () =>
    Effect.gen(function* () {
      const { final } = yield* image
      const check = /CMD (\[.*\])$/.exec(valuesOf(final, "HEALTHCHECK")[0] ?? "")?.[1] ?? ""
      const [command, ...args]: ReadonlyArray<string> = JSON.parse(check)
      assert.strictEqual(command, "node")
      const codeOn = (port: string) =>
        Effect.promise(() =>
          run(process.execPath, args, { env: { RICOCHET_OPS_PORT: port } }).then(
            () => 0,
            (failed: { readonly code: number }) => failed.code
          )
        )
      const server = yield* start()
      const { port } = new URL(String((yield* server.log("ops listening")).url))
      assert.strictEqual(yield* codeOn(port), 0)
      yield* server.stop()
      assert.strictEqual(yield* codeOn(port), 1)
      assert.include(check, `RICOCHET_OPS_PORT || ${keyAt("ops.port").default}}/healthz`)
    })
  )
})

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
  readonly timeoutSeconds?: number
}

interface Objects {
  readonly Service: { readonly spec: { readonly ports: ReadonlyArray<{ name: string; port: number }> } }
  readonly StatefulSet: {
    readonly spec: {
      readonly template: {
        readonly spec: {
          readonly terminationGracePeriodSeconds: number
          readonly containers: readonly [
            {
              readonly ports: ReadonlyArray<{ name: string; containerPort: number }>
              readonly env: ReadonlyArray<{ name: string; value: string }>
              readonly startupProbe: Probe
              readonly livenessProbe: Probe
              readonly readinessProbe: Probe
              readonly volumeMounts: ReadonlyArray<{ mountPath: string }>
              readonly lifecycle?: unknown
            }
          ]
        }
      }
    }
  }
}

const objects = Effect.map(deployed("kubernetes.yaml"), (text) => {
  const documents = parseAllDocuments(text)
  assert.deepStrictEqual(
    documents.flatMap(({ errors, warnings }) => [...errors, ...warnings]),
    []
  )
  return Object.fromEntries(documents.map((document) => [document.get("kind"), document.toJS()])) as unknown as Objects
})

describe("the Kubernetes objects", () => {
  it.effect("give the server settings that it has, and the time that they take", () =>
    Effect.gen(function* () {
      const pod = (yield* objects).StatefulSet.spec.template.spec
      const [container] = pod.containers
      const variables = Object.fromEntries(container.env.map(({ name, value }) => [name, value]))
      const { settings, warnings } = yield* configured({ ...variablesOf((yield* image).final), ...variables })
      // Which the network policy answers.
      assert.deepStrictEqual(
        warnings.map(({ message }) => message),
        ["the ops listener is reachable from other machines, and asks nobody who they are"]
      )
      const { bind, drainDelay, readinessTimeout, shutdownTimeout } = settings.ops
      assert.strictEqual(bind, "0.0.0.0")
      assert.isTrue(Duration.isGreaterThan(shutdownTimeout, drainDelay))
      assert.isAbove(pod.terminationGracePeriodSeconds, Duration.toSeconds(shutdownTimeout))
      assert.isAbove(container.readinessProbe.timeoutSeconds ?? 0, Duration.toSeconds(readinessTimeout))
      assert.deepStrictEqual(
        container.volumeMounts.map(({ mountPath }) => mountPath),
        [settings.storage.dataDirectory]
      )
      assert.strictEqual(container.lifecycle, undefined)
    })
  )

  it.effect("probe what tells of life and of readiness, on the ports that there are", () =>
    Effect.gen(function* () {
      const { Service, StatefulSet } = yield* objects
      const [{ livenessProbe, ports, readinessProbe, startupProbe }] = StatefulSet.spec.template.spec.containers
      assert.deepStrictEqual(
        [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet),
        [
          { path: "/healthz", port: "ops" },
          { path: "/healthz", port: "ops" },
          { path: "/readyz", port: "ops" }
        ]
      )
      const port = Number(keyAt("server.port").default)
      assert.deepStrictEqual(ports, [
        { name: "libp2p", containerPort: port },
        { name: "ops", containerPort: Number(keyAt("ops.port").default) }
      ])
      assert.deepStrictEqual(Service.spec.ports, [{ name: "libp2p", port }])
    })
  )
})
