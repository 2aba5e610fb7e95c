/**
 * Which entry is due next: a binary heap in which an item can be moved and removed wherever it stands. It knows of
 * nothing but times, and costs the logarithm of its size.
 */

/** Something that is due at a time. `place` belongs to the heap: where the item stands in it, -1 outside. */
export interface Due {
  at: number
  place: number
}

export class Deadlines<A extends Due> {
  readonly #heap: Array<A> = []

  get size(): number {
    return this.#heap.length
  }

  /** The item that is due first. */
  get first(): A | undefined {
    return this.#heap[0]
  }

  /** Puts an item in, or moves one that is in, to the time it is due at. */
  schedule(item: A, at: number): void {
    item.at = at
    if (item.place === -1) {
      item.place = this.#heap.length
      this.#heap.push(item)
    }
    this.#settle(item)
  }

  remove(item: A): void {
    const last = this.#heap[this.#heap.length - 1]
    if (item.place === -1 || last === undefined) return
    this.#heap.pop()
    if (last !== item) {
      this.#put(last, item.place)
      this.#settle(last)
    }
    item.place = -1
  }

  #put(item: A, place: number): void {
    this.#heap[place] = item
    item.place = place
  }

  #settle(item: A): void {
    for (;;) {
      const parentPlace = (item.place - 1) >> 1
      const parent = item.place === 0 ? undefined : this.#heap[parentPlace]
      if (parent === undefined || parent.at <= item.at) break
      this.#put(parent, item.place)
      this.#put(item, parentPlace)
    }
    for (;;) {
      const left = this.#heap[2 * item.place + 1]
      const right = this.#heap[2 * item.place + 2]
      const child = right !== undefined && left !== undefined && right.at < left.at ? right : left
      if (child === undefined || child.at >= item.at) return
      const childPlace = child.place
      this.#put(child, item.place)
      this.#put(item, childPlace)
    }
  }
}
