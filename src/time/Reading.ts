/** One reading of both clocks, as what decides is handed it. A noun: Now takes the reading. */
export interface Now {
  /** Nanoseconds since the Unix epoch on the wall clock: what `timestamp`s are compared with. */
  readonly wallNanos: bigint
  /** Milliseconds on the steady clock: what ages are measured on. */
  readonly steadyMillis: number
}
