import { UsageError, type ModelgateError } from '../../errors.ts'
import { leadTo, nextCommand } from '../../files/next-command.ts'
import { describeJsonError } from '../../files/parse-json.ts'
import { isObject, type JsonObject } from '../../json.ts'
import { createProblemList } from '../../problems.ts'
import { blockOf } from './block-shape.ts'
import type { Lock, LockBlock, OutputFacts } from './lock-block.ts'

/** The form of the lock. A program refuses a lock of a higher number; members that it does not know it ignores. */
const version = 1

const about = 'Written by modelgate run: what was generated, by which request. Commit it; do not edit it.'

/** `hero`, `captions[shoe-de]`. */
const instanceId = /^[a-z0-9][a-z0-9_-]{0,63}(?:\[[^]+\])?$/

const maxProblems = 10

/**
 * The text of a lock: a line for each instance, sorted by the UTF-16 units of the ids. Git merges by lines: of blocks of
 * many lines, half of which are the same in each, it would now and then make one of two without a conflict. Every line
 * ends with a comma, because a member follows that never changes, so that a new instance changes no line but its own.
 */
export function formatLock(lock: Lock): string {
  const lines = [...lock.keys()].sort().map((id) => formatMember(id, compactBlock(lock.get(id)!)))
  return `{\n${[formatMember('$about', about), ...lines, formatMember('$version', version)].join(',\n')}\n}\n`
}

function formatMember(name: string, value: unknown): string {
  return `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`
}

/** The members in one order, so that the same lock is always the same text; without those that say nothing. */
function compactBlock(block: LockBlock): object {
  const { key, outputs, fields, model, origin, request_id, job_id, usage, took_s } = block
  const { picked, adopted, prompt } = block
  return {
    key,
    outputs: outputs.map(compactOutput),
    fields: Object.fromEntries(Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1))),
    ...withoutNull({ picked, adopted, model, origin, request_id, job_id, usage, took_s, prompt }),
  }
}

function compactOutput({ path, sha256, bytes, media_type, ...facts }: OutputFacts): object {
  const { width, height, seconds, credentials } = facts
  const others = withoutNull({ width, height, seconds, credentials: credentials || null })
  return { path, sha256, bytes, media_type, ...others }
}

function withoutNull(object: object): object {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))
}

/**
 * Reads the text of a lock.
 * @param file its name for messages
 * @throws UsageError `lock_conflict`, `lock_invalid`, `lock_newer`, with `FILE:LINE`
 */
export function parseLock(text: string, file: string): Lock {
  const conflict = conflictMark.exec(text)
  if (conflict !== null) throw lockConflict(file, lineAt(text, conflict.index))
  const members = parseMembers(text, file)
  const found = members['$version']
  if (typeof found === 'number' && found > version) throw lockNewer(file, found)
  const problems = createProblemList(maxProblems)
  const complain = (line: number, problem: string) =>
    problems.add(lockInvalid(`${file}:${line}: ${problem}.`))
  if (found !== version) complain(1, `the lock has no "$version" of ${version}`)
  const lock = new Map<string, LockBlock>()
  for (const id of Object.keys(members).sort()) {
    if (id.startsWith('$')) continue
    const name = JSON.stringify(id)
    if (instanceId.test(id)) {
      const block = blockOf(members[id], (problem) => complain(lineOf(text, id), `${name}: ${problem}`))
      if (block !== undefined) lock.set(id, block)
    } else {
      complain(lineOf(text, id), `${name} is not the name of an instance`)
    }
    if (problems.isFull) break
  }
  for (const { id, line } of repeatedIds(text, Object.keys(members).length)) {
    complain(line, `${JSON.stringify(id)} appears twice in the lock`)
  }
  problems.throwIfAny()
  return lock
}

/** The beginning of a line that git writes where two branches differ. */
const conflictMark = /^(?:<{7}|\|{7}|={7}|>{7})(?=[ \r\n]|$)/m

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

/** In JSON the last of several members of one name counts: a merge by hand may have left both sides. */
function* repeatedIds(text: string, members: number): Iterable<{ id: string; line: number }> {
  let lines = 0
  for (let at = text.indexOf(memberStart); at !== -1; at = text.indexOf(memberStart, at + 1)) lines++
  if (lines <= members) return
  const seen = new Set<string>()
  for (const { 1: name, index } of text.matchAll(/^ {2}("(?:[^"\\\n]|\\.)*"):/gm)) {
    const id = JSON.parse(name!) as string
    if (seen.has(id)) yield { id, line: lineAt(text, index) }
    seen.add(id)
  }
}

/** As each member of the lock begins in the form in which it is written. */
const memberStart = '\n  "'

/** Where a block begins, in the form in which locks are written; 1 where that is not known. */
function lineOf(text: string, id: string): number {
  const at = text.indexOf(`${memberStart}${JSON.stringify(id).slice(1)}:`)
  return lineAt(text, at + 1)
}

function lineAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++
  return line
}

function lockConflict(file: string, line: number): UsageError {
  return new UsageError(`${file}:${line}: the lock has conflict markers of a merge.`, {
    code: 'lock_conflict',
    ...leadTo('Resolve them with: ', nextCommand(['modelgate', 'run', 'merge', '--resolve'])),
  })
}

function lockInvalid(message: string): ModelgateError {
  return new UsageError(message, {
    code: 'lock_invalid',
    hint: 'Restore it from version control; nothing is generated without it.',
  })
}

function lockNewer(file: string, found: number): UsageError {
  return new UsageError(`${file}:1: the lock has version ${found}; this program reads up to ${version}.`, {
    code: 'lock_newer',
    hint: 'A newer modelgate has written it: update this one.',
  })
}
