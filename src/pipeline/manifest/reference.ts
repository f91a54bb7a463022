/** The parts of `@import/job[row]#candidate`. */
export interface WrittenReference {
  /** The other manifest, without its extension. */
  readonly import?: string
  readonly job: string
  /** The id of a row, in Unicode's form NFC. */
  readonly row?: string
  /** From 1. */
  readonly candidate?: number
}

/** What a job is named. */
export const jobName = /^[a-z0-9][a-z0-9_-]{0,63}$/

const reference =
  /^@(?:(?<manifest>[\p{L}\p{N}][\p{L}\p{N}._-]*)\/)?(?<job>[a-z0-9][a-z0-9_-]{0,63})(?:\[(?<row>[^[\]]+)\])?(?:#(?<candidate>[1-9]\d{0,3}))?$/u

/** Reads a reference to what another job makes; undefined for anything else, a misspelt one, too. */
export function parseReference(text: string): WrittenReference | undefined {
  const parts = reference.exec(text)?.groups
  if (parts === undefined) return undefined
  const { manifest, job, row, candidate } = parts
  return {
    ...(manifest === undefined ? {} : { import: manifest }),
    job: job!,
    ...(row === undefined ? {} : { row: row.normalize('NFC') }),
    ...(candidate === undefined ? {} : { candidate: Number(candidate) }),
  }
}
