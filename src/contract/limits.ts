/**
 * The most that a request can hold, in MiB. The specification sets no limit; as base64 in JSON this much still fits
 * in one string of the engine (512 MiB).
 */
export const maxRequestMebibytes = 256
export const maxRequestBytes = maxRequestMebibytes * 1024 * 1024

/** How long is waited where nothing else is configured, in seconds. */
export const defaultSeconds = {
  connect: 10,
  /** A stream starts soon, a whole answer may take minutes. */
  firstByte: { streamed: 120, whole: 600 },
  /** Between two bytes. */
  idle: 60,
  /** Between two events that mean something. */
  progress: 300,
  /** For the first byte of a pipe on standard input that comes beside a prompt: it may wait for a generation itself. */
  standardInput: 180,
} as const

/** The longest key that is taken, in bytes. */
export const maxKeyBytes = 65_536

/** The headers of a request or a reply: a key of any length in one of them leaves room for the others. */
export const maxHeaderBytes = 2 * maxKeyBytes

/** How often a request is sent again where nothing else is configured. */
export const defaultMaxRetries = 2

/** A job whose outcome is still unknown after so many days will hardly be heard of again. */
export const unknownJobDays = 7

/** Between two look-ups, in seconds; never less than the shortest, whoever asks for it. */
export const pollSeconds = { shortest: 0.1, first: 2, growth: 1.5, longest: 15 } as const

/** More file names than this are not planned ahead; what comes beyond gets its own. */
export const mostPlannedNames = 100
