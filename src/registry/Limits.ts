/**
 * Every bound of the registry in one place, each with its unit and its source. None can be configured: servers that
 * judge the same message differently would list different servers. What can be configured is in Settings.
 */

// Messages

/** Bytes of a payload at most, counted before anything reads it. Source: R4. */
export const maxPayloadBytes = 8 * 1024
/** Objects and lists inside one another at most, the message itself counted. Source: R4. */
export const maxDepth = 8
/** Characters (code points, after unescaping) of a string or key at most. Source: R4. */
export const maxStringCharacters = 256
/** Items of a list at most. Source: R4. */
export const maxListItems = 64
/** Characters of a refusal's detail at most. Source: R4. */
export const maxDetailCharacters = 200

// Time

/** A `timestamp` more than this ahead of our wall clock is refused: 2 minutes in nanoseconds. Source: R7. */
export const maxAheadNanos = 120_000_000_000n
/** A `timestamp` this much or more behind our wall clock is refused: 2 hours in nanoseconds. Source: R7. */
export const tooOldNanos = 7_200_000_000_000n
/**
 * A server heard within this is listed, this exact age included: 2 hours in milliseconds of the steady clock.
 * Source: specification, "When a server drops out"; R6.
 */
export const silentAfterMillis = 7_200_000
/** A silent server's description is kept this long after it was last heard: 24 hours in milliseconds. Source: R9. */
export const forgottenAfterMillis = 86_400_000
/** A server known this long is never pushed out by a stranger: 24 hours in milliseconds. Source: R19. */
export const knownForADayMillis = 86_400_000

// What is kept of a server

/** Verdicts kept of each server for the strip that operators see; 60 are five hours at the default interval. */
export const recentVerdicts = 60
/** Intervals between heartbeats that the observed beat is taken from, newest ones. Source: R21. */
export const beatSample = 8
/**
 * An announcement and a heartbeat whose timestamps lie no further apart were said together, at a start, to a newcomer or
 * where both schedules meet: 2 seconds in nanoseconds. Source: R11, R21.
 */
export const saidTogetherNanos = 2_000_000_000n
/** While no beat is known, what is said together counts as another check after this long: 1 minute in milliseconds. */
export const firstBeatMillis = 60_000

// Strangers

/** Announcements of one signer that count in a minute at most. Source: R19. */
export const announcementsPerMinute = 12
/** Heartbeats of one signer that count in a minute at most. Source: R19. */
export const heartbeatsPerMinute = 60
/** Signers whose pace is watched at the same time; the one quiet for longest goes first. Source: R19 (bounded memory). */
export const ratedSigners = 65_536
/** Signers whose refusals are remembered for `why`, newest kept. Source: R19, R21. */
export const refusedSigners = 4_096
/**
 * Evicted servers whose last timestamps are remembered, newest kept. Only servers that are not listed are evicted, so to
 * push one out of here costs a stranger as many servers that announce and then fall silent or ill. Source: R7, R19.
 */
export const rememberedTimestamps = 65_536
/** Evictions remembered for `why`, newest kept. Source: R19, R21. */
export const rememberedEvictions = 4_096
/** Changes a reader of the registry may fall behind before it is told that it is too slow. */
export const subscriberBacklog = 1_024

// Twins

/** Times that a server's words may contradict those before: then it is a restart, above it a twin (R18). */
export const contradictions = 2
/**
 * Within so many milliseconds: an hour of scores, which a heartbeat tells; three of descriptions, for twins that announce
 * once an hour contradict each other twice in it.
 */
export const contradictionMillis = { score: 3_600_000, description: 10_800_000 } as const
/** Servers whose contradictions are counted at the same time, newest kept. */
export const contradictedServers = 4_096

// Flapping

/** Changes of a server's verdict that are no pattern yet: three failures that passed. Above it, it flaps (case F02). */
export const verdictChangesAtRest = 6
/** Within so many milliseconds: an hour, which is twelve checks. */
export const flappingMillis = 3_600_000
/** Servers whose changes are counted at the same time, the quietest forgotten first. */
export const changingServers = 4_096

// Log lines

/** Lines a minute about the refused messages of one neighbour at most. Source: R19; case O02. */
export const refusalLinesPerNeighbour = 5
/** Lines a minute about refused messages at most, whoever brings them: 6 bad neighbours in full. Source: O02. */
export const refusalLinesInAll = 30
/** Servers that are told of once an hour, at the same time at most. */
export const reportedServers = 4_096
/** Neighbours whose lines are counted apart at the same time; well above any connection limit in use. */
export const pacedNeighbours = 4_096

// Own clock

/** Disagreement with this server's clock that is worth a warning: 30 seconds in milliseconds. Source: R10. */
export const clockDisagreementMillis = 30_000
/** How long one server's word on the time counts: 1 hour in milliseconds of the steady clock. Source: R10. */
export const clockSampleMillis = 3_600_000
/** Servers whose clocks are compared with ours at most, newest heard kept. */
export const clockSamples = 1_024
/**
 * Two messages too old to count say that a clock is behind when they were heard at least so far apart, 20 seconds in
 * milliseconds (the shortest beat in use is 30), and their dates lie as far apart.
 */
export const clockStrideMillis = 20_000
/** What the way to us may take longer for one of the two than for the other: 5 seconds in milliseconds. */
export const clockWanderMillis = 5_000
/** How often the verdict on our clock is worked out again at most: 10 seconds in milliseconds. */
export const clockVerdictMillis = 10_000
