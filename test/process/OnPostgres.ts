/** How a server is started on a PostgreSQL of a test, by whatever way leads there, and checks itself often. */
import { Redacted } from "effect"
import type { Server } from "../storage/PostgresServer.ts"
import type { ServerOptions } from "./ServerProcess.ts"

/** Between two self-checks, in seconds: often enough for a test, and half as often as others count heartbeats (R19). */
export const beatSeconds = 2

export const onPostgres = ({ settings }: Server, port: number = settings.port): ServerOptions => ({
  // Nothing of the embedded database is needed.
  withoutData: true,
  env: {
    RICOCHET_DATABASE_HOST: "127.0.0.1",
    RICOCHET_DATABASE_PORT: String(port),
    RICOCHET_DATABASE_NAME: settings.name,
    RICOCHET_DATABASE_USERNAME: settings.username,
    RICOCHET_DATABASE_SSLMODE: "disable",
    RICOCHET_DATABASE_POOL_SIZE: "2",
    RICOCHET_PG_PASSWORD: settings.password === undefined ? "" : Redacted.value(settings.password),
    RICOCHET_INTERVALS_HEALTH_CHECK_MIN: String(beatSeconds / 60)
  }
})
