// The program's own limits and defaults. What the gateway's contract sets is in contract/.

/**
 * The most that a request can hold, in MiB. The specification sets no limit; as base64 in JSON this much still fits
 * in one string of the engine (512 MiB).
 */
export const maxRequestMebibytes = 256
export const maxRequestBytes = maxRequestMebibytes * 1024 * 1024

/** Default timeouts, in seconds. */
export const defaultSeconds = {
  connect: 10,
  /** A stream starts soon, a whole answer may take minutes. */
  firstByte: { streamed: 120, whole: 600 },
  /** Between two bytes. */
  idle: 60,
  /** Between two events that mean something. */
  progress: 300,
  /** For the first byte of a pipe on standard input beside a prompt: it may wait for a generation itself. */
  standardInput: 180,
} as const

/** The longest key that is accepted, in bytes. */
export const maxKeyBytes = 65_536

/** The headers of a request or a reply: a key of any length in one of them leaves room for the others. */
export const maxHeaderBytes = 2 * maxKeyBytes

/** How often a request is retried by default. */
export const defaultMaxRetries = 2

/** Between two look-ups, in seconds; never less than the shortest, whatever is requested. */
export const pollSeconds = { min: 0.1, first: 2, growth: 1.5, max: 15 } as const
