import type { CreatingCommand } from '../../contract/command-inputs.ts'
import { creatingCommands } from '../../contract/commands.ts'
import { checkBody, type Fields } from '../../contract/field.ts'
import { mediaTypeOfName } from '../../files/media-type.ts'
import { numberOf, type JsonObject } from '../../json.ts'
import { nearestName } from '../../nearest-name.ts'
import {
  assertions,
  fieldName,
  fieldsOf,
  jobFields,
  jobName,
  nouns,
  type CommandField,
} from './manifest-fields.ts'
import type { FanOut, Instance, Lane } from './manifest.ts'
import type { Mistakes } from './mistakes.ts'
import { entriesOf, memberOf, nodeAt, valueOf, type YamlEntry, type YamlNode } from './yaml-nodes.ts'

export interface WrittenField {
  readonly field: CommandField
  readonly node: YamlNode
}

type WrittenFields = ReadonlyMap<string, WrittenField>

/** By the column `id` in Unicode's form NFC, else a digest of the row. */
export type Rows = ReadonlyMap<string, JsonObject>

/** A job as it is written, and what its `each` stands for. */
export interface JobDefinition {
  readonly name: string
  readonly at: number
  readonly node: YamlNode
  readonly command: CreatingCommand
  readonly commandAt: number
  readonly fields: WrittenFields
  /** The values of `jobFields` that are right. */
  readonly own: JsonObject
  readonly settings: Pick<
    Instance,
    'at' | 'lane' | 'variants' | 'pick' | 'isFrozen' | 'isDistinct' | 'acceptsMismatch' | 'onUnknown'
  >
  /** Null without `each`; `waiting` while they are not read, or the text that has the elements is not there. */
  rows: Rows | 'waiting' | null
  fanOut: FanOut | null
  /** Why the elements of its text are not used, a sentence. */
  problem: string | null
}

/** Subcommands of `run`: a job with such a name is run with `--` before it. */
const subcommands = new Set(['init', 'adopt', 'pick', 'restore', 'report', 'merge', 'clean', 'worker'])

const commandNames = Object.keys(creatingCommands) as CreatingCommand[]

const isCommand = (name: string): name is CreatingCommand => Object.hasOwn(creatingCommands, name)

/** The jobs, without those whose command is not clear; that has been reported. */
export function readJobs(mistakes: Mistakes, root: YamlNode): JobDefinition[] {
  const defaults = new Map<string, WrittenFields>()
  for (const { name, at, node } of entriesOf(root, 'defaults')) {
    if (isCommand(name)) defaults.set(name, readFields(mistakes, name, node))
    else mistakes.report(at, unknownName(name, commandNames, 'defaults'))
  }
  return entriesOf(root, 'jobs').flatMap((entry) => readJob(mistakes, entry, defaults) ?? [])
}

function readJob(
  mistakes: Mistakes,
  { name, at, node }: YamlEntry,
  defaults: ReadonlyMap<string, WrittenFields>,
): JobDefinition | undefined {
  if (subcommands.has(name)) {
    mistakes.warnings.add(`The job ${name} has the name of a subcommand: run it alone as \`run -- ${name}\`.`)
  }
  if (!jobName.test(name)) {
    const rule = 'it has lower-case letters, digits, - and _, at most 64, and begins with a letter or a digit'
    mistakes.report(at, `${JSON.stringify(name)} cannot be the name of a job: ${rule}.`)
  }
  const what = `the job ${name}`
  const own = readShape(mistakes, node, jobFields, what, commandNames)
  if (node.kind !== 'mapping') return undefined
  const [first, ...others] = node.entries.filter((member) => isCommand(member.name))
  for (const other of others) {
    const message = `A job has one command, and ${first!.name} is one already: make it a separate job.`
    mistakes.report(other.at, message)
  }
  if (first === undefined) {
    return mistakes.report(at, `${what} has no command. A job has one of ${commandNames.join(', ')}.`)
  }
  const command = first.name as CreatingCommand
  const { conflicts } = creatingCommands[command]
  const lane = laneOf(command, own['out'])
  for (const assert of entriesOf(node, 'assert')) {
    const of: readonly string[] | undefined = assertions[assert.name]?.of
    if (of !== undefined && !of.includes(lane)) {
      mistakes.report(assert.at, `${assert.name} is not for ${nouns[lane][1]}, which ${command} makes.`)
    }
  }
  const [pick, variants] = [numberOf(own['pick']), numberOf(own['variants']) ?? 1]
  if (pick !== null && pick > variants) {
    mistakes.report(memberOf(node, 'pick')!.node.at, `pick is ${pick}, but variants is ${variants}.`)
  }
  const settings: JobDefinition['settings'] = {
    at: mistakes.positionOf(at),
    lane,
    variants,
    pick,
    isFrozen: own['frozen'] === true,
    isDistinct: own['distinct'] === true,
    acceptsMismatch: own['accept_mismatch'] === true,
    onUnknown: (own['on_unknown'] ?? (lane === 'text' ? 'retry' : 'stop')) as Instance['onUnknown'],
  }
  const given = readFields(mistakes, command, first.node)
  const fields = new Map([...(defaults.get(command) ?? []), ...given])
  for (const problem of missingFields(command, fields)) mistakes.report(first.at, problem)
  const schema = fields.get('schema')
  if (command === 'generate' && lane === 'image' && schema !== undefined) {
    mistakes.report(schema.node.at, 'schema is for texts, and out is a picture.')
  }
  for (const pair of conflicts) {
    const [one = '', other = ''] = pair.map(fieldName)
    const written = fields.get(other)
    if (written === undefined || !fields.has(one)) continue
    mistakes.report(written.node.at, `${one} and ${other} cannot be used together.`)
  }
  const rows = memberOf(node, 'each') === undefined ? null : 'waiting'
  const job = { name, at, node, command, commandAt: first.at, fields, own, settings }
  return { ...job, rows, fanOut: null, problem: null }
}

function laneOf(command: CreatingCommand, out: unknown): Lane {
  const isPicture = mediaTypeOfName(String(out))?.startsWith('image/') === true
  return command === 'generate' && isPicture ? 'image' : creatingCommands[command].creates
}

function missingFields(command: CreatingCommand, fields: WrittenFields): string[] {
  const { content, inputs, model, prompt } = creatingCommands[command]
  const isGiven = (name: string) => fields.has(fieldName(name))
  const missing = inputs.filter(({ name, required }) => required === true && !isGiven(name))
  const hint = 'set it here or in defaults, not in a configuration, so that it is the same on every machine'
  return [
    ...missing.map(({ name, about }) => `${fieldName(name)} is missing: ${about}.`),
    ...(content.some(isGiven) ? [] : [`${prompt.name} is missing: ${prompt.about}.`]),
    ...(model.isOptional || isGiven('model') ? [] : [`model is missing: ${hint}.`]),
  ]
}

/** The fields of a command, without those that it does not have, which are reported. */
function readFields(mistakes: Mistakes, command: CreatingCommand, node: YamlNode): WrittenFields {
  const fields = fieldsOf(command)
  const found = new Map<string, WrittenField>()
  if (node.value !== null && node.kind !== 'mapping') {
    mistakes.report(node.at, `${command} must be a mapping of its fields.`)
    return found
  }
  for (const { name, at, node: value } of node.entries) {
    const field = fields.get(name)
    if (field !== undefined) found.set(name, { field, node: value })
    else mistakes.report(at, problemOfName(command, name))
  }
  return found
}

function problemOfName(command: CreatingCommand, name: string): string {
  const { excluded } = creatingCommands[command]
  const flag = name.replaceAll('_', '-')
  if (Object.hasOwn(excluded, flag)) return `${fieldName(name)} is not for a manifest. ${excluded[flag]}`
  if (Object.hasOwn(jobFields, name)) return `${JSON.stringify(name)} belongs to the job, beside ${command}.`
  return unknownName(name, [...fieldsOf(command).keys()], command)
}

/**
 * Holds a mapping against a table of fields, and those in it against theirs, and reports what is wrong.
 * @param others names that are right besides those of the table
 * @returns the values that are right; a mapping without a table of its own is an empty object
 */
export function readShape(
  mistakes: Mistakes,
  node: YamlNode,
  fields: Fields,
  what: string,
  others: readonly string[] = [],
): JsonObject {
  const values: Record<string, unknown> = {}
  if (node.kind !== 'mapping') {
    mistakes.report(node.at, `${what} must be a mapping.`)
    return values
  }
  for (const { name, at, node: inner } of node.entries) {
    const field = Object.hasOwn(fields, name) ? fields[name]! : undefined
    if (field === undefined) {
      if (!others.includes(name))
        mistakes.report(at, unknownName(name, [...Object.keys(fields), ...others], what))
    } else if (field.type !== 'object' || inner.kind !== 'mapping') values[name] = valueOf(inner)
    else values[name] = field.fields === undefined ? {} : readShape(mistakes, inner, field.fields, name)
  }
  for (const { path, kind, problem } of checkBody({ fields, rules: [] }, values)) {
    const steps = path.split('.')
    delete values[steps[0]!]
    const at = kind === 'required' && steps.length === 1 ? node.at : nodeAt(node, steps).at
    mistakes.report(at, kind === 'required' ? `${path} is missing.` : `${path} ${problem}.`)
  }
  return values
}

function unknownName(name: string, known: readonly string[], owner: string): string {
  const near = nearestName(name, known)
  const hint = near === undefined ? '.' : `; did you mean ${near}?`
  if (name === '<<') return 'Merge keys (<<) are not read; what jobs have in common goes into defaults.'
  return `${JSON.stringify(name)} is not a field of ${owner}${hint}`
}
