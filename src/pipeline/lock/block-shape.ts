import { countOf, isDeeperThan, isObject, maxJsonDepth, type JsonObject } from '../../json.ts'
import { digestPattern, type LockBlock, type OutputFacts, type Result } from './lock-block.ts'

/** Takes what is wrong with a value, as a clause: `key is missing`. */
export type Complain = (problem: string) => void

/** What stands in the lock for one instance; members that are not listed are left out. */
export function blockOf(value: unknown, complain: Complain): LockBlock | undefined {
  const result = resultOf(value, complain)
  if (result === undefined) return undefined
  const { required, optional } = membersOf(value as JsonObject, '', complain)
  return {
    key: required('key', digest, ''),
    ...result,
    fields: required('fields', fieldDigests, {}),
    picked: optional('picked', ordinal),
    adopted: optional('adopted', text),
    prompt: optional('prompt', text),
  }
}

/** What one request has made, as lock, candidates and journals hold it. */
export function resultOf(value: unknown, complain: Complain): Result | undefined {
  if (!isObject(value)) return void complain('it is not an object')
  const { required, optional } = membersOf(value, '', complain)
  return {
    outputs: required('outputs', filledList, []).map((output, at) =>
      outputOf(output, `outputs[${at}]`, complain),
    ),
    model: optional('model', text),
    origin: optional('origin', text),
    request_id: optional('request_id', text),
    job_id: optional('job_id', text),
    usage: optional('usage', object),
    took_s: optional('took_s', seconds),
  }
}

function outputOf(value: unknown, place: string, complain: Complain): OutputFacts {
  if (!isObject(value)) complain(`${place} is not an object`)
  const { required, optional } = isObject(value)
    ? membersOf(value, `${place}.`, complain)
    : membersOf({}, '', () => {})
  return {
    path: required('path', innerPath, ''),
    sha256: required('sha256', digest, ''),
    bytes: required('bytes', count, 0),
    media_type: required('media_type', text, ''),
    width: optional('width', count),
    height: optional('height', count),
    seconds: optional('seconds', seconds),
    credentials: optional('credentials', flag) ?? false,
  }
}

interface Kind<Value> {
  is(value: unknown): value is Value
  /** For messages. */
  readonly name: string
}

/** Reads the members of an object. */
function membersOf(members: JsonObject, place: string, complain: Complain) {
  const read = <Value>(name: string, kind: Kind<Value>): Value | null | undefined => {
    const value = Object.hasOwn(members, name) ? members[name] : undefined
    if (kind.is(value)) return value
    if (value === undefined || value === null) return null
    complain(`${place}${name} is not ${kind.name}`)
    return undefined
  }
  return {
    required<Value>(name: string, kind: Kind<Value>, otherwise: Value): Value {
      const value = read(name, kind)
      if (value === null) complain(`${place}${name} is missing`)
      return value ?? otherwise
    },
    optional: <Value>(name: string, kind: Kind<Value>): Value | null => read(name, kind) ?? null,
  }
}

const text: Kind<string> = {
  is: (value) => typeof value === 'string',
  name: 'a text',
}

const flag: Kind<boolean> = {
  is: (value) => typeof value === 'boolean',
  name: 'true or false',
}

/** Deeper ones could not be written again. */
const object: Kind<JsonObject> = {
  is: (value): value is JsonObject => isObject(value) && !isDeeperThan(value, maxJsonDepth),
  name: 'an object of usual depth',
}

const digest: Kind<string> = {
  is: (value): value is string => typeof value === 'string' && digestPattern.test(value),
  name: 'a SHA-256 in hexadecimal',
}

const count: Kind<number> = {
  is: (value): value is number => countOf(value) !== null,
  name: 'a whole number',
}

const ordinal: Kind<number> = {
  is: (value): value is number => (countOf(value) ?? 0) > 0,
  name: 'a whole number from 1',
}

const seconds: Kind<number> = {
  is: (value): value is number => Number.isFinite(value) && (value as number) >= 0,
  name: 'a number of seconds',
}

const filledList: Kind<readonly unknown[]> = {
  is: (value): value is readonly unknown[] => Array.isArray(value) && value.length > 0,
  name: 'a list with at least one file',
}

const fieldName = /^\$?[A-Za-z][\w.-]*$/

const fieldDigests: Kind<Readonly<Record<string, string>>> = {
  is: (value): value is Readonly<Record<string, string>> =>
    isObject(value) &&
    Object.entries(value).every(
      ([name, short]) => fieldName.test(name) && typeof short === 'string' && /^[0-9a-f]{8,64}$/.test(short),
    ),
  name: 'an object of fields and their digests',
}

const innerPath: Kind<string> = {
  is: (value): value is string => typeof value === 'string' && isInnerPath(value),
  name: 'a path below the folder of the lock, with /',
}

/**
 * Whether a path stays below the folder that it is relative to, on every system, and out of the folders of Git and of
 * this program.
 */
export function isInnerPath(path: string): boolean {
  return (
    path.isWellFormed() && !/[\0-\x1f\\]|^[a-z]:|(?:^|\/)(?:\.{0,2}|\.git|\.modelgate)(?:\/|$)/i.test(path)
  )
}
