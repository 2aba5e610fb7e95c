/**
 * The draw behind `Query.pick`: a number between 0 and 1 for each pair of key and name, the same in every language and
 * on every machine. It knows nothing of servers.
 *
 * Two 32-bit FNV-1a hashes over the UTF-8 bytes of the key, a zero byte and the name, with the offset bases below, each
 * finished by MurmurHash3's `fmix32`; the first gives the upper 32 bits, the second's upper 20 bits the rest of 52.
 */

const prime = 0x01000193
const upperBasis = 0x811c9dc5
const lowerBasis = 0x050c5d1f

const encoder = new TextEncoder()

const absorb = (hash: number, bytes: Uint8Array): number => {
  let mixed = hash
  for (const byte of bytes) mixed = Math.imul(mixed ^ byte, prime)
  return mixed
}

const finish = (hash: number): number => {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/** The draws of one key: a function of the name, strictly between 0 and 1. */
export const draws = (key: string): ((name: string) => number) => {
  const prefix = encoder.encode(`${key}\0`)
  const [upper, lower] = [absorb(upperBasis, prefix), absorb(lowerBasis, prefix)]
  return (name) => {
    const bytes = encoder.encode(name)
    return (finish(absorb(upper, bytes)) * 2 ** 20 + (finish(absorb(lower, bytes)) >>> 12) + 0.5) / 2 ** 52
  }
}

/** The highest score wins, each name in proportion to its weight (Efraimidis and Spirakis). Weight 0 scores 0. */
export const score = (draw: number, weight: number): number => (weight === 0 ? 0 : -weight / Math.log(draw))
