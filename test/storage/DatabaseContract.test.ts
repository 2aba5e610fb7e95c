import { Effect, Layer } from "effect"
import { suite } from "./DatabaseContract.ts"
import { databaseLayer } from "./Fixtures.ts"
import { PostgresServer } from "./PostgresServer.ts"

suite("the embedded database", databaseLayer({ kind: "embedded" }))

suite(
  "a PostgreSQL",
  Layer.unwrap(Effect.map(PostgresServer, ({ settings }) => databaseLayer(settings))).pipe(
    Layer.provide(PostgresServer.layer())
  )
)
