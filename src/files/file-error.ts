import { closeSync } from 'node:fs'
import { FileError, ModelgateError, UsageError, type ErrorCode } from '../errors.ts'

interface Reason {
  /** Without it reading or writing decides. */
  readonly code?: ErrorCode
  readonly clause: string
  readonly hint?: string
}

const noSpace: Reason = {
  code: 'no_space',
  clause: 'there is no space left',
  hint: 'Free some space, or choose another folder.',
}

const denied: Reason = {
  code: 'permission_denied',
  clause: 'permission denied',
  hint: 'Change its permissions, or choose another location.',
}

const tooMany: Reason = {
  clause: 'too many files are open on this machine',
  hint: 'Raise the limit with: ulimit -n 4096',
}

const reasons: Readonly<Record<string, Reason>> = {
  ENOSPC: noSpace,
  EDQUOT: { ...noSpace, clause: 'the disk quota is exceeded' },
  EACCES: denied,
  EPERM: denied,
  EROFS: {
    code: 'permission_denied',
    clause: 'the file system is read-only',
    hint: 'Choose a folder that can be written.',
  },
  EISDIR: { code: 'not_a_file', clause: 'it is a folder', hint: 'Name a file.' },
  ENOTDIR: { code: 'not_found', clause: 'a part of its path is a file, not a folder' },
  EEXIST: { code: 'write_failed', clause: 'a file with this name exists already' },
  ENOENT: { code: 'not_found', clause: 'it does not exist' },
  ENAMETOOLONG: { code: 'bad_file_name', clause: 'its name is too long', hint: 'Choose a shorter name.' },
  ELOOP: { code: 'not_a_file', clause: 'too many levels of symbolic links' },
  EMFILE: tooMany,
  ENFILE: tooMany,
}

/** An error that says already what is wrong stays as it is; so it does in `readError`. */
export function writeError(cause: unknown, path: string): ModelgateError {
  if (cause instanceof ModelgateError) return cause
  const { code, clause, hint } = reasonOf(cause, 'write_failed')
  return new FileError(code, `${shownPath(path)} cannot be written: ${clause}.`, withHint(hint, cause))
}

export function readError(cause: unknown, path: string): ModelgateError {
  if (cause instanceof ModelgateError) return cause
  const { code, clause, hint } = reasonOf(cause, 'read_failed')
  const message = `${shownPath(path)} cannot be read: ${clause}.`
  return new FileError(code, message, { ...withHint(hint, cause), phase: 'input' })
}

/** What a promise is caught with. */
export const cannotWrite = (path: string) => (error: unknown) => {
  throw writeError(error, path)
}

export const cannotRead = (path: string) => (error: unknown) => {
  throw readError(error, path)
}

/** @throws FileError, as what an asynchronous step returns does */
export function writing<Value>(path: string, step: () => Value): Value {
  try {
    const value = step()
    return value instanceof Promise ? (value.catch(cannotWrite(path)) as Value) : value
  } catch (error) {
    throw writeError(error, path)
  }
}

/** Undefined where nothing has the name. @throws FileError */
export function readingIfThere<Value>(path: string, step: () => Value): Value | undefined {
  try {
    return step()
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw readError(error, path)
  }
}

export function fileNameProblem(path: string): UsageError | undefined {
  if (path !== '' && !path.includes('\0')) return undefined
  return new UsageError(`${JSON.stringify(path)} is not a file name.`, { code: 'bad_file_name' })
}

export function systemCode(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
}

/** Quotes a path for a message and shortens it: it may be text that was mistaken for a path. */
export function shownPath(path: string, limit = 300): string {
  return path.length > limit ? `"${path.slice(0, 120)}…"` : `"${path}"`
}

function reasonOf(cause: unknown, otherwise: ErrorCode) {
  const code = systemCode(cause) ?? ''
  if (Object.hasOwn(reasons, code)) return { code: otherwise, ...reasons[code]! }
  return { code: otherwise, clause: code || (cause instanceof Error ? cause.message : String(cause)) }
}

const withHint = (hint: string | undefined, cause: unknown) =>
  hint === undefined ? { cause } : { hint, cause }

/** Quotes a word for a POSIX shell, if necessary. */
export function shellWord(text: string): string {
  // A shell takes a tilde at the start for a home directory.
  return /^(?!~)[\w./~+@%:,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** Of what was only read, or has been synced: what the system says of closing it changes nothing. */
export function closeQuietly(descriptor: number): void {
  try {
    closeSync(descriptor)
  } catch {}
}
