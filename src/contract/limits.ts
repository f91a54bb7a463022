const mebibyte = 1024 * 1024

/**
 * The most that a request can hold, in MiB. The specification sets no limit; as base64 in JSON this much still fits
 * in one string of the engine (512 MiB).
 */
export const maxRequestMebibytes = 256
export const maxRequestBytes = maxRequestMebibytes * mebibyte

/** How long is waited where nothing else is configured, in seconds (product, "Time"). */
export const defaultSeconds = {
  connect: 10,
  /** A stream starts soon, a whole answer may take minutes. */
  firstByte: { streamed: 120, whole: 600 },
  /** Between two bytes. */
  idle: 60,
  /** Between two events that mean something. */
  progress: 300,
  /** For the first byte of a pipe on standard input that comes beside a prompt. */
  standardInput: 10,
} as const

/** How often a request is sent again where nothing else is configured. */
export const defaultMaxRetries = 2
