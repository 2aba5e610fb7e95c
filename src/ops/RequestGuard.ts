/**
 * Which requests come in at all: reading methods only, and only under names that are this server's, so that no web
 * page can reach it by pointing a name of its own here (DNS rebinding). Pure.
 */
import { isIP } from "node:net"

export const allowedMethods = "GET, HEAD"

export const isReading = (method: string): boolean => method === "GET" || method === "HEAD"

/** The host of a `Host` header without its port; undefined where it is no `host[:port]`. */
export const hostOf = (header: string): string | undefined => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::\d{1,5})?$/.exec(header)
  return (match?.[1] ?? match?.[2])?.toLowerCase().replace(/\.$/, "")
}

/**
 * Whether a request under this `Host` header is meant for this server. An IP address always is, for no page is served
 * from one by rebinding a name; so are `localhost` and the names given.
 */
export const isOwnHost = (header: string, names: ReadonlyArray<string>): boolean => {
  const host = hostOf(header)
  if (host === undefined) return false
  return isIP(host) !== 0 || host === "localhost" || names.some((name) => name.toLowerCase() === host)
}
