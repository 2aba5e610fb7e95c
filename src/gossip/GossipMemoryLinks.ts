/**
 * The links of a network in memory: who reaches whom, and what the way does to a message. It knows places and nothing
 * of the nodes that stand there.
 */
import { Duration, type Random } from "effect"

/** Where a node stands on the network: its peer ID, or another name where two nodes share an identity. */
export type Place = string

/** What a link does to messages, the same both ways. */
export interface Weather {
  /** Time from one end to the other. Default 1 millisecond. */
  readonly delay?: Duration.Input
  /** At most this much is added, drawn for each message, so that later ones overtake. Default none. */
  readonly jitter?: Duration.Input
  /** Share of the messages that never arrive, 0 to 1. Default 0. */
  readonly loss?: number
  /** Share of the messages that arrive twice, 0 to 1. Default 0. */
  readonly duplication?: number
}

interface Link {
  readonly delayMillis: number
  readonly jitterMillis: number
  readonly loss: number
  readonly duplication: number
}

export interface Links {
  connect(a: Place, b: Place, weather: Weather): void
  disconnect(a: Place, b: Place): void
  partition(groups: ReadonlyArray<ReadonlyArray<Place>>): void
  unplug(place: Place): void
  plug(place: Place): void
  /** Every place there is a link to, cut or not. */
  linked(place: Place): ReadonlyArray<Place>
  isOpen(a: Place, b: Place): boolean
  /** How long what is never lost takes from one to the other. */
  delayMillis(a: Place, b: Place): number
  /** When each copy of one message arrives, in milliseconds from now: none where it is lost. */
  journey(a: Place, b: Place): ReadonlyArray<number>
}

export const make = (random: Random.Random): Links => {
  const links = new Map<Place, Map<Place, Link>>()
  const unplugged = new Set<Place>()
  let groupOf = new Map<Place, number>()

  const endsOf = (place: Place) => {
    const ends = links.get(place) ?? new Map<Place, Link>()
    links.set(place, ends)
    return ends
  }
  const isOpen = (a: Place, b: Place) =>
    links.get(a)?.has(b) === true && !unplugged.has(a) && !unplugged.has(b) && groupOf.get(a) === groupOf.get(b)

  return {
    connect(a, b, weather) {
      const link: Link = {
        delayMillis: Duration.toMillis(weather.delay ?? Duration.millis(1)),
        jitterMillis: Duration.toMillis(weather.jitter ?? Duration.zero),
        loss: weather.loss ?? 0,
        duplication: weather.duplication ?? 0
      }
      endsOf(a).set(b, link)
      endsOf(b).set(a, link)
    },
    disconnect(a, b) {
      links.get(a)?.delete(b)
      links.get(b)?.delete(a)
    },
    partition(groups) {
      groupOf = new Map(groups.flatMap((group, index) => group.map((place) => [place, index] as const)))
    },
    unplug: (place) => void unplugged.add(place),
    plug: (place) => void unplugged.delete(place),
    linked: (place) => [...(links.get(place)?.keys() ?? [])],
    isOpen,
    delayMillis: (a, b) => links.get(a)?.get(b)?.delayMillis ?? 0,
    journey(a, b) {
      const link = links.get(a)?.get(b)
      if (link === undefined || !isOpen(a, b)) return []
      const copies = random.nextDoubleUnsafe() < link.duplication ? 2 : 1
      return Array.from({ length: copies }, () =>
        random.nextDoubleUnsafe() < link.loss
          ? []
          : [link.delayMillis + Math.round(random.nextDoubleUnsafe() * link.jitterMillis)]
      ).flat()
    }
  }
}
