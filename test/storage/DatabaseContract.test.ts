import { join } from "node:path"
import { describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { prepareData } from "../process/ServerProcess.ts"
import { isMissing, named } from "../process/Tools.ts"
import { suite } from "./DatabaseContract.ts"
import { databaseLayer, temporaryDirectory } from "./Fixtures.ts"
import { PostgresServer } from "./PostgresServer.ts"

suite(
  "the embedded database",
  Layer.unwrap(
    Effect.gen(function* () {
      const directory = join(yield* temporaryDirectory, "data")
      yield* Effect.promise(() => prepareData(directory))
      return databaseLayer({ kind: "embedded" }, directory)
    })
  )
)

describe.skipIf(isMissing("postgres"))(named("with PostgreSQL", "postgres"), () => {
  suite(
    "a PostgreSQL",
    Layer.unwrap(Effect.map(PostgresServer, ({ settings }) => databaseLayer(settings))).pipe(
      Layer.provide(PostgresServer.layer())
    )
  )
})
