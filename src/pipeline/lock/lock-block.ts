/** A SHA-256 as it is written: in hexadecimal. */
export const digestPattern = /^[0-9a-f]{64}$/

export interface OutputFacts {
  /** Relative to the output folder, with `/`. */
  readonly path: string
  /** Of its bytes, in hexadecimal; of a text with LF. */
  readonly sha256: string
  readonly bytes: number
  readonly media_type: string
  /** Pixels; null where it has none. */
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
  /** Whether content credentials are inside. */
  readonly credentials: boolean
}

export interface Provenance {
  /** As the gateway names it. */
  readonly model: string | null
  /** The origin of the gateway. */
  readonly origin: string | null
  readonly request_id: string | null
  /** The id of the remote job. */
  readonly job_id: string | null
  readonly usage: Readonly<Record<string, unknown>> | null
  /** How long it took. */
  readonly took_s: number | null
}

/** Of a result that nobody knows more of than its files. */
export const unknownProvenance: Provenance = {
  model: null,
  origin: null,
  request_id: null,
  job_id: null,
  usage: null,
  took_s: null,
}

/** The provenance alone, of a result or a block. */
export function provenanceOf({ model, origin, request_id, job_id, usage, took_s }: Provenance): Provenance {
  return { model, origin, request_id, job_id, usage, took_s }
}

export interface Result extends Provenance {
  readonly outputs: readonly OutputFacts[]
}

export interface LockBlock extends Result {
  readonly key: string
  /** A short digest of each field of the request, by the manifest's names. */
  readonly fields: Readonly<Record<string, string>>
  /** The number of the candidate that became the output, from 1; null where there was only one. */
  readonly picked: number | null
  /** Who locked a file that was there already, and on which day: `Ada, 2026-11-26`; of version 0.1.0 only who. */
  readonly adopted: string | null
  /** Only with `lock_prompts: true`. */
  readonly prompt: string | null
}

/** The locked instances, by their ids. */
export type Lock = ReadonlyMap<string, LockBlock>
