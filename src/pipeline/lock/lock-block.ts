import { basename, dirname, relative } from 'node:path'
import * as v from 'valibot'
import type { FileContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { openAtomicFile } from '../../files/atomic-file.ts'
import { cannotWrite } from '../../files/file-error.ts'
import { decodeText, withLineFeeds } from '../../files/input-file.ts'
import { leadTo, nextCommand } from '../../files/next-command.ts'
import { describeJsonError } from '../../files/parse-json.ts'
import { makeFolder } from '../../files/write-target.ts'
import { isDeeperThan, isObject, maxJsonDepth, type JsonObject } from '../../json.ts'
import { manifestName, maxStateText, readStateFile, type Project } from '../project.ts'

export const digestPattern = /^[0-9a-f]{64}$/

/** Of each mistake, as a clause. */
const wrong = ({ input }: { readonly input: unknown }) =>
  input === undefined ? 'is missing' : 'is not what a lock has there'

const text = v.string(wrong)
const count = v.pipe(v.number(wrong), v.safeInteger(wrong), v.minValue(0, wrong))
const seconds = v.pipe(v.number(wrong), v.finite(wrong), v.minValue(0, wrong))
const digest = v.pipe(text, v.regex(digestPattern, wrong))
/** Deeper ones could not be written again. */
const usage = v.custom<JsonObject>((value) => isObject(value) && !isDeeperThan(value, maxJsonDepth), wrong)
const fieldDigests = v.custom<Readonly<Record<string, string>>>(
  (value) =>
    isObject(value) &&
    Object.entries(value).every(
      ([name, short]) =>
        /^\$?[A-Za-z][\w.-]*$/.test(name) && typeof short === 'string' && /^[0-9a-f]{8,64}$/.test(short),
    ),
  wrong,
)

const outputFacts = v.object(
  {
    /** Relative to the output folder, with `/`. */
    path: v.pipe(text, v.check(isInnerPath, wrong)),
    /** Of its bytes, in hexadecimal; of a text with LF. */
    sha256: digest,
    bytes: count,
    media_type: text,
    width: v.nullish(count, null),
    height: v.nullish(count, null),
    seconds: v.nullish(seconds, null),
    credentials: v.nullish(v.boolean(wrong), false),
  },
  wrong,
)

const provenance = v.object({
  model: v.nullish(text, null),
  origin: v.nullish(text, null),
  request_id: v.nullish(text, null),
  job_id: v.nullish(text, null),
  usage: v.nullish(usage, null),
  took_s: v.nullish(seconds, null),
})

/** What one request has made, as the lock, `result.json`, workers and journals of version 0.1.0 have it. */
export const resultSchema = v.object(
  {
    outputs: v.pipe(v.array(outputFacts, wrong), v.nonEmpty(wrong), v.readonly()),
    ...provenance.entries,
  },
  wrong,
)

/** What the lock holds for one instance, in the order in which it is written; members that are not listed are left out. */
const lockBlock = v.object(
  {
    key: digest,
    outputs: resultSchema.entries.outputs,
    /** A short digest of each field of the request, by the manifest's names. */
    fields: fieldDigests,
    /** The number of the candidate that became the output, from 1; null where there was only one. */
    picked: v.nullish(v.pipe(count, v.minValue(1, wrong)), null),
    /** Who locked a file that was there already, and on which day: `Ada, 2026-11-26`; of version 0.1.0 only who. */
    adopted: v.nullish(text, null),
    ...provenance.entries,
    prompt: v.nullish(text, null),
  },
  wrong,
)

export type OutputFacts = Readonly<v.InferOutput<typeof outputFacts>>
export type Provenance = Readonly<v.InferOutput<typeof provenance>>
export type Result = Readonly<v.InferOutput<typeof resultSchema>>
export type LockBlock = Readonly<v.InferOutput<typeof lockBlock>>

export type Lock = ReadonlyMap<string, LockBlock>

/** Of a result that nobody knows more of than its files. */
export const unknownProvenance: Provenance = v.getDefaults(provenance)

export function provenanceOf({ model, origin, request_id, job_id, usage, took_s }: Provenance): Provenance {
  return { model, origin, request_id, job_id, usage, took_s }
}

function readBlock(value: unknown, refuse: (mistake: string) => never): LockBlock {
  const { success, output, issues } = v.safeParse(lockBlock, value, { abortEarly: true })
  if (success) return output
  return refuse(`${v.getDotPath(issues[0]) ?? 'it'} ${issues[0].message}`)
}

/** A block as it is written: the same is always the same text. Members that say nothing are left out. */
function compactBlock(block: LockBlock): object {
  const outputs = block.outputs.map((facts) => inOrder(outputFacts.entries, facts))
  const fields = Object.entries(block.fields).sort(([one], [other]) => (one < other ? -1 : 1))
  return inOrder(lockBlock.entries, { ...block, outputs, fields: Object.fromEntries(fields) })
}

function inOrder(entries: object, value: JsonObject): object {
  const present = Object.keys(entries).filter((name) => value[name] != null && value[name] !== false)
  return Object.fromEntries(present.map((name) => [name, value[name]]))
}

/** Undefined unless a lock would take it. */
export function readResult(value: unknown): Result | undefined {
  const { success, output } = v.safeParse(resultSchema, value)
  return success ? output : undefined
}

/** Whether a path stays below its folder, on every system, and out of the folders of Git and of this program. */
export function isInnerPath(path: string): boolean {
  return (
    path.isWellFormed() && !/[\0-\x1f\\]|^[a-z]:|(?:^|\/)(?:\.{0,2}|\.git|\.modelgate)(?:\/|$)/i.test(path)
  )
}

/** The form of the lock. A program refuses a lock of a higher number; members that it does not know it ignores. */
const version = 1

const about = 'Written by modelgate run: what was generated, by which request. Commit it; do not edit it.'

const instancesPerPiece = 100

const instanceId = /^[a-z0-9][a-z0-9_-]{0,63}(?:\[[^]+\])?$/

/** An empty lock without a file. @throws UsageError `lock_conflict`, `lock_invalid`, `other_version`; FileError */
export async function readLock(context: FileContext, project: Project): Promise<Lock> {
  const text = await readLockText(context, project)
  if (text === undefined) return new Map()
  const { manifestPath, isSandbox } = project
  const isNamed = basename(manifestPath) !== manifestName
  const same = [
    ...(isNamed ? ['-f', relative(context.cwd, manifestPath)] : []),
    ...(isSandbox ? ['--sandbox'] : []),
  ]
  return parseLock(text, shownLock(context, project), same)
}

/** Without a byte-order mark; undefined when there is no file. @throws UsageError `lock_invalid`; FileError */
export async function readLockText(context: FileContext, project: Project): Promise<string | undefined> {
  const file = shownLock(context, project)
  const bytes = await readStateFile(project.lockPath, file, maxStateText)
  if (bytes === undefined) return undefined
  const { text, problem } = decodeText(bytes)
  if (text === undefined) throw lockInvalid(`${file}: the lock ${problem}.`)
  return text
}

export async function writeLock(context: FileContext, project: Project, lock: Lock): Promise<void> {
  const found = await readStateFile(project.lockPath, undefined, maxStateText).catch(() => undefined)
  if (found === undefined ? lock.size === 0 : isLock(found, lock)) return
  await makeFolder(dirname(project.lockPath)).catch(cannotWrite(shownLock(context, project)))
  const file = await openAtomicFile(context, project.lockPath, { force: true })
  try {
    for (const piece of lockPieces(lock)) await file.write(piece)
    await file.commit()
  } finally {
    await file.discard()
  }
}

/** A checkout on Windows may have other line breaks. */
function isLock(bytes: Buffer, lock: Lock): boolean {
  const found = withLineFeeds(bytes)
  let at = 0
  for (const piece of lockPieces(lock)) {
    const expected = Buffer.from(piece)
    if (!expected.equals(found.subarray(at, (at += expected.length)))) return false
  }
  return at === found.length
}

function shownLock({ cwd }: Pick<FileContext, 'cwd'>, { lockPath }: Project): string {
  return relative(cwd, lockPath) || lockPath
}

/**
 * A line for each instance, sorted. Git merges by lines: of blocks of many lines, half of which are the same in each, it
 * would now and then make one of two without a conflict. Every line ends with a comma, because a member follows that
 * never changes, so that a new instance changes no line but its own.
 */
export function formatLock(lock: Lock): string {
  return [...lockPieces(lock)].join('')
}

/** A run writes its lock again and again, and strings of megabytes stay in memory for long. */
function* lockPieces(lock: Lock): Generator<string> {
  const ids = [...lock.keys()].sort()
  yield `{\n${formatMember('$about', about)},\n`
  for (let at = 0; at < ids.length; at += instancesPerPiece) {
    const some = ids.slice(at, at + instancesPerPiece)
    yield some.map((id) => `${formatMember(id, compactBlock(lock.get(id)!))},\n`).join('')
  }
  yield `${formatMember('$version', version)}\n}\n`
}

function formatMember(name: string, value: unknown): string {
  return `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`
}

/** @param same the words of a command for the same lock @throws UsageError with `FILE:LINE`, as `readLock` */
export function parseLock(text: string, file: string, same: readonly string[] = []): Lock {
  const conflict = conflictMark.exec(text)
  if (conflict !== null) {
    const line = text.slice(0, conflict.index).split('\n').length
    throw new UsageError(`${file}:${line}: the lock has conflict markers of a merge.`, {
      code: 'lock_conflict',
      ...leadTo('Resolve them with: ', nextCommand(['modelgate', 'run', 'merge', '--resolve', ...same])),
    })
  }
  const members = parseMembers(text, file)
  const found = members['$version']
  if (typeof found === 'number' && found > version) {
    const message = `${file}:1: the lock has version ${found}; this program reads up to ${version}.`
    const hint = 'A newer modelgate has written it: update this one.'
    throw new UsageError(message, { code: 'other_version', hint })
  }
  const refuse = (line: number, problem: string) => {
    throw lockInvalid(`${file}:${line}: ${problem}.`)
  }
  if (found !== version) refuse(1, `the lock has no "$version" of ${version}`)
  const lines = findLines(text)
  const lock = new Map<string, LockBlock>()
  for (const id of Object.keys(members).sort()) {
    const name = JSON.stringify(id)
    const [first, repeated] = lines.get(id) ?? []
    const line = first?.line ?? 1
    // In JSON the last of several members of one name counts: a merge by hand may have left both sides.
    if (repeated !== undefined) refuse(repeated.line, `${name} appears twice in the lock`)
    if (id.startsWith('$')) continue
    if (!instanceId.test(id)) refuse(line, `${name} is not the name of an instance`)
    const block = readBlock(members[id], (mistake) => refuse(line, `${name}: ${mistake}`))
    lock.set(id, block)
  }
  return lock
}

/** The beginning of a line that git writes where two branches differ. */
export const conflictMark = /^(?:<{7}|\|{7}|={7}|>{7})(?=[ \r\n]|$)/m

function parseMembers(text: string, file: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const { line, column, reason } = describeJsonError(text, error as SyntaxError)
    throw lockInvalid(`${file}:${line}:${column}: the lock is not valid JSON: ${reason}.`)
  }
  if (!isObject(value)) throw lockInvalid(`${file}:1:1: the lock is not an object.`)
  return value
}

function findLines(text: string) {
  const named = text.split('\n').flatMap((line, at) => {
    const [, name] = /^ {2}("(?:[^"\\]|\\.)*"):/.exec(line) ?? []
    return name === undefined ? [] : [{ id: JSON.parse(name) as string, line: at + 1 }]
  })
  return Map.groupBy(named, ({ id }) => id)
}

function lockInvalid(message: string): UsageError {
  return new UsageError(message, {
    code: 'lock_invalid',
    hint: 'Restore it from version control; nothing is generated without it.',
  })
}
