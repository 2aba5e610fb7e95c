/**
 * What of a watch concerns the list that was asked for: the watch tells of every server, a reader may have asked for
 * some. Pure, but for what it remembers of the list.
 */
import type { ServiceQuery } from "../ops/OpsApi.ts"
import type { ServiceEntry } from "../ops/ServiceView.ts"
import type { ChangeView, WatchEvent } from "../ops/WatchEvent.ts"

export type News =
  | { readonly event: "snapshot"; readonly services: ReadonlyArray<ServiceEntry> }
  /** `listed`: whether the server belongs to the list from now on. One that never did is no news. */
  | ({ readonly event: "change"; readonly listed: boolean } & ChangeView)

type Asked = Pick<ServiceQuery, "available" | "capability" | "region">

/** Whether `/services` would list it for that query, too. */
export const belongs = (entry: ServiceEntry, { available, capability, region }: Asked): boolean =>
  (available === "all" || entry.state === "available") &&
  (capability === undefined || entry.capabilities.includes(capability)) &&
  (region === undefined || entry.region === region || entry.regions.includes(region))

const inOrder = (left: ServiceEntry, right: ServiceEntry): number =>
  right.uptime_score - left.uptime_score || (left.server_id < right.server_id ? -1 : 1)

/** Tells the news in one event after another of a watch; undefined where there is none. */
export const narrowedTo = (query: Asked): ((event: WatchEvent) => News | undefined) => {
  let listed = new Set<string>()
  return ({ data, event }) => {
    if (event === "snapshot") {
      const services = data.services.filter((entry) => belongs(entry, query)).sort(inOrder)
      listed = new Set(services.map(({ server_id }) => server_id))
      return { event, services }
    }
    const isListed = data.service !== null && belongs(data.service, query)
    const wasListed = listed.delete(data.server_id)
    if (isListed) listed.add(data.server_id)
    return isListed || wasListed ? { event, listed: isListed, ...data } : undefined
  }
}
