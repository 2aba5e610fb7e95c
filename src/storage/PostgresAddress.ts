/** Where a PostgreSQL server takes connections: at a host and port, or at a Unix socket. It opens none. */
import type { NetConnectOpts } from "node:net"
import type { DatabaseSettings } from "../config/Settings.ts"

type PostgresSettings = Extract<DatabaseSettings, { readonly kind: "postgres" }>

/** A host that is a path is the directory of a Unix socket, as everywhere with PostgreSQL. */
export const isSocketDirectory = ({ host }: Pick<PostgresSettings, "host">): boolean => host.startsWith("/")

/** As Node's `connect` takes it. */
export const addressOf = ({ host, port }: Pick<PostgresSettings, "host" | "port">): NetConnectOpts =>
  isSocketDirectory({ host }) ? { path: `${host}/.s.PGSQL.${port}` } : { host, port }
