// The program's own limits and defaults. Limits of the gateway's contract are in contract/.

/** The specification sets no limit; encoded as base64 in JSON, this still fits in one string of V8 (512 MiB). */
export const maxRequestMebibytes = 256
export const maxRequestBytes = maxRequestMebibytes * 1024 * 1024

export const defaultSeconds = {
  connect: 10,
  /** A stream starts soon; a whole answer may take minutes. */
  firstByte: { streamed: 120, whole: 600 },
  /** Maximum time between two bytes. */
  idle: 60,
  /** Maximum time between two meaningful events. */
  progress: 300,
  /** For the first byte of a pipe on standard input beside a prompt: it may wait for a generation itself. */
  standardInput: 180,
} as const

export const maxKeyBytes = 65_536

/** In characters. A shorter key protects nothing, and is an ordinary word often: it is not sought in what is written. */
export const minHiddenLength = 8

/** Maximum size of the headers of a request or a reply: leaves room for a key of any length. */
export const maxHeaderBytes = 2 * maxKeyBytes

export const defaultMaxRetries = 2

/** Time between two look-ups, in seconds; never less than `min`, whatever is requested. */
export const pollSeconds = { min: 0.1, first: 2, growth: 1.5, max: 15 } as const
