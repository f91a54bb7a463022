import type { CreatingCommand } from '../../contract/command-inputs.ts'
import { creatingCommands } from '../../contract/commands.ts'
import type { JsonObject } from '../../json.ts'
import { nearestName } from '../../nearest-name.ts'
import { exclusionOf, fieldsOf, fieldName, nouns, type CommandField } from './command-fields.ts'
import { memberOf, type YamlEntry, type YamlNode } from './yaml-nodes.ts'
import { assertions, jobFields, jobName } from './manifest-fields.ts'
import { readPart, readShape, unknownName, type Reading } from './reading.ts'

/** A field of a command as it is written. */
export interface WrittenField {
  readonly field: CommandField
  readonly node: YamlNode
  /** Whether it is written in `defaults`. */
  readonly isDefault: boolean
}

/** A job as it is written, before rows and files are read. */
export interface JobDefinition {
  readonly name: string
  /** Where its name is. */
  readonly at: number
  readonly node: YamlNode
  readonly command: CreatingCommand
  /** Where the command is. */
  readonly commandAt: number
  /** By their names, with those of `defaults`. */
  readonly fields: ReadonlyMap<string, WrittenField>
  /** The values of `jobFields` that are right. */
  readonly own: JsonObject
  /** The values of `assertions` that are right. */
  readonly asserts: JsonObject
}

/** Subcommands of `run`, which no job can be named after. */
const subcommands = new Set(['adopt', 'pick', 'report', 'merge', 'clean', 'worker'])

const commandNames = Object.keys(creatingCommands) as CreatingCommand[]

const isCommand = (name: string): name is CreatingCommand => Object.hasOwn(creatingCommands, name)

/** The fields of `defaults:`, by command. */
export type Defaults = ReadonlyMap<string, ReadonlyMap<string, WrittenField>>

export function readDefaults(reading: Reading, root: YamlNode): Defaults {
  const { mistakes, placeOf } = reading
  const entry = memberOf(root, 'defaults')
  const found = new Map<string, ReadonlyMap<string, WrittenField>>()
  if (entry?.node.kind !== 'mapping') return found
  for (const { name, at, node } of entry.node.entries) {
    if (isCommand(name)) found.set(name, readFields(reading, name, node, true))
    else mistakes.add(placeOf(at), unknownCommand(name))
  }
  return found
}

function unknownCommand(name: string): string {
  const near = nearestName(name, commandNames)
  const hint =
    near === undefined ? `: there are ${commandNames.join(', ')}.` : `; did you mean ${JSON.stringify(near)}?`
  return `${JSON.stringify(name)} is not a command that creates something${hint}`
}

/** The jobs, without those whose command is not clear; that has been reported. */
export function readJobs(reading: Reading, root: YamlNode, defaults: Defaults): JobDefinition[] {
  const entry = memberOf(root, 'jobs')
  if (entry?.node.kind !== 'mapping') return []
  return entry.node.entries.flatMap((job) => readJob(reading, job, defaults) ?? [])
}

function readJob(reading: Reading, entry: YamlEntry, defaults: Defaults): JobDefinition | undefined {
  const { mistakes, placeOf } = reading
  const { name, at, node } = entry
  const report = (place: number, message: string) => mistakes.add(placeOf(place), message)
  const problem = jobNameProblem(name)
  if (problem !== undefined) report(at, problem)
  const what = `the job ${name}`
  const own = readShape(reading, node, jobFields, { what, others: commandNames })
  if (node.kind !== 'mapping') return undefined
  const asserts = readPart(reading, node, 'assert', assertions)
  const commands = node.entries.filter((member) => isCommand(member.name))
  const [first, ...others] = commands
  for (const other of others) {
    report(other.at, `A job has one command, and ${first!.name} is one already: make it a separate job.`)
  }
  if (first === undefined) {
    report(at, `${what} has no command. A job has one of ${commandNames.join(', ')}.`)
    return undefined
  }
  const command = first.name as CreatingCommand
  for (const assert of memberEntries(node, 'assert')) {
    const of: readonly string[] | undefined = assertions[assert.name]?.of
    const { creates } = creatingCommands[command]
    if (of !== undefined && !of.includes(creates)) {
      report(assert.at, `${assert.name} is not for ${nouns[creates][1]}, which ${command} makes.`)
    }
  }
  const given = readFields(reading, command, first.node, false)
  const fields = new Map([...(defaults.get(command) ?? []), ...given])
  return { name, at, node, command, commandAt: first.at, fields, own, asserts }
}

function memberEntries(node: YamlNode, name: string): readonly YamlEntry[] {
  const part = memberOf(node, name)?.node
  return part?.kind === 'mapping' ? part.entries : []
}

function jobNameProblem(name: string): string | undefined {
  const shown = JSON.stringify(name)
  if (subcommands.has(name)) return `A job cannot be named ${shown}, a subcommand of run.`
  if (jobName.test(name)) return undefined
  return `${shown} cannot be the name of a job: it has lower-case letters, digits, - and _, at most 64, and begins with a letter or a digit.`
}

/** The fields of a command, without those that it does not have, which are reported. */
function readFields(
  { mistakes, placeOf }: Reading,
  command: CreatingCommand,
  node: YamlNode,
  isDefault: boolean,
): Map<string, WrittenField> {
  const fields = fieldsOf(command)
  const found = new Map<string, WrittenField>()
  const isEmpty = node.kind === 'scalar' && node.value === null
  if (node.kind !== 'mapping') {
    if (!isEmpty) mistakes.add(placeOf(node.at), `${command} must be a mapping of its fields.`)
    return found
  }
  for (const { name, at, node: value } of node.entries) {
    const field = fields.get(name)
    if (field !== undefined) found.set(name, { field, node: value, isDefault })
    else mistakes.add(placeOf(at), problemOfName(command, name))
  }
  return found
}

function problemOfName(command: CreatingCommand, name: string): string {
  const excluded = exclusionOf(command, name)
  if (excluded !== undefined) return `${fieldName(name)} is not for a manifest. ${excluded}`
  if (Object.hasOwn(jobFields, name)) {
    return `${JSON.stringify(name)} belongs to the job, beside ${command}.`
  }
  return unknownName(name, [...fieldsOf(command).keys()], `of ${command}`)
}
