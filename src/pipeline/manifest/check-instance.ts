import { creatingCommands } from '../../contract/commands.ts'
import { checkBody, ignoredAdvice, subjectOf, type Violation } from '../../contract/field.ts'
import { familiesOf, modelCalled, modelWarnings, type Model } from '../../contract/known-models.ts'
import { isProblem } from '../../problems.ts'
import { mediaTypeOfName } from '../../files/media-type.ts'
import { modelSegment } from '../../gateway/url.ts'
import { fieldName, nouns } from './manifest-fields.ts'
import type { JobDefinition } from './job-definition.ts'
import type { Instance } from './manifest.ts'
import { bodyOf, outputCount } from './request-body.ts'
import type { Place } from './resolve-field.ts'
import { memberOf, nodeAt } from './yaml-nodes.ts'

/** @param isDefault whether the place is in `defaults`: then the job is named, too */
type ReportMistake = (at: number, message: string, isDefault?: boolean) => void

/**
 * Holds the request that an instance makes against the contract and the limits of its model's family, and reports what is
 * wrong where the field is written.
 * @param isWhole whether all fields could be read: otherwise missing ones are not reported
 * @returns how many outputs one result has
 */
export function checkInstance(place: Place, instance: Instance, isWhole: boolean): number {
  const { mistakes, job, instance: row, families, now } = place
  const { endpoint, model } = creatingCommands[job.command]
  const report: ReportMistake = (at, message, isDefault = false) =>
    mistakes.report(at, message, { instance: isDefault ? (row ?? job.name) : row })
  if (isWhole) reportMissing(job, report)
  reportEmpty(job, instance, report)
  reportConflicts(job, report)
  const known = instance.model === null ? undefined : modelCalled(instance.model, families)
  const written = job.fields.get('model')
  for (const message of modelProblems(job, known)) {
    report(written?.node.at ?? job.commandAt, message, written?.isDefault)
  }
  try {
    const body = bodyOf(instance)
    for (const violation of checkBody(endpoint, body, known)) {
      const isUnread = violation.kind === 'required' && !isWhole
      if (!isUnread) reportViolation(job, violation, report)
    }
    const format = formatProblem(job, body, instance.output, known)
    if (format !== undefined) report(memberOf(job.node, 'out')?.node.at ?? job.at, format)
    const kind = model.family ?? undefined
    const warnings = known === undefined ? [] : modelWarnings(known, { kind, configured: families, now })
    const advice = ignoredAdvice(endpoint, body).map(({ problem }) => `${job.name}: ${problem}.`)
    for (const warning of [...warnings, ...advice, ...literalWarnings(instance)]) {
      mistakes.warnings.add(warning)
    }
    return outputCount(instance, body)
  } catch (error) {
    if (!isProblem(error)) throw error
    // The messages of operations name flags.
    const message = error.message.replaceAll(/--([a-z][a-z-]*)/g, (_, flag: string) => fieldName(flag))
    report(job.commandAt, message)
    return 1
  }
}

/** On the command line `@file` is the text of a file; here it is sent as it is written. */
function literalWarnings({ job, fields }: Instance): string[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    value.kind === 'text' && value.path === null && /^@[\w./[\]#-]+$/.test(value.text)
      ? [`${job}: ${name} is sent as ${value.text}; { file: … } takes the text of a file or of a job.`]
      : [],
  )
}

function reportMissing({ command, commandAt, fields }: JobDefinition, report: ReportMistake): void {
  const { content, inputs, model, prompt } = creatingCommands[command]
  const isGiven = (name: string) => fields.has(fieldName(name))
  const missing = inputs.filter(({ name, required }) => required === true && !isGiven(name))
  for (const { name, about } of missing) report(commandAt, `${fieldName(name)} is missing: ${about}.`)
  if (!content.some(isGiven)) report(commandAt, `${prompt.name} is missing: ${prompt.about}.`)
  const written = fields.get('model')?.node
  const isText = written?.kind === 'scalar' && typeof written.value === 'string' && written.value !== ''
  if (written !== undefined && model.location === 'path' && !isText) report(written.at, 'model must be text.')
  if (model.isOptional || written !== undefined) return
  report(
    commandAt,
    'model is missing: set it here or in defaults, not in a configuration, so that it is the same on every machine.',
  )
}

/** A prompt of nothing but spaces; one of no characters is found by the contract, where it has a limit for that. */
function reportEmpty({ command, fields }: JobDefinition, instance: Instance, report: ReportMistake): void {
  const { prompt, endpoint } = creatingCommands[command]
  const value = instance.fields[prompt.name]
  const written = fields.get(prompt.name)
  if (written === undefined || value?.kind !== 'text' || value.text.trim() !== '') return
  const isFound = value.text === '' && endpoint.fields[prompt.name]?.minLength !== undefined
  if (!isFound) report(written.node.at, `${prompt.name} is empty.`, written.isDefault)
}

function reportConflicts({ command, fields }: JobDefinition, report: ReportMistake): void {
  for (const [one, other] of creatingCommands[command].conflicts) {
    const [name, otherName] = [fieldName(one), fieldName(other)]
    const written = fields.get(otherName)
    if (fields.has(name) && written !== undefined) {
      report(written.node.at, `${name} and ${otherName} cannot be used together.`)
    }
  }
}

function modelProblems({ command }: JobDefinition, known: Model | undefined): string[] {
  if (known === undefined) return []
  const { endpoint, model } = creatingCommands[command]
  const { name } = endpoint
  const problems: string[] = []
  if (name !== undefined && known.family !== undefined && known.family.endpoints[name] === undefined) {
    problems.push(
      `${subjectOf(known)} is not for ${command}, which takes models of ${familiesOf(name).join(', ')}.`,
    )
  }
  if (model.location === 'path') {
    try {
      modelSegment(known.id)
    } catch (error) {
      if (!isProblem(error)) throw error
      problems.push(error.message.replace('-m ', 'model '))
    }
  }
  return problems
}

function reportViolation(job: JobDefinition, violation: Violation, report: ReportMistake): void {
  const { path, kind, problem, other = '' } = violation
  const found = fieldOfPath(job, path)
  // What is missing altogether has been reported.
  if (found === undefined && kind === 'required') return
  const name = found?.name ?? path
  const otherName = fieldOfPath(job, other)?.name ?? other
  const messages: Readonly<Record<string, string>> = {
    exclusive: `${name} and ${otherName} cannot be used together: ${problem}.`,
    requires: `${name} needs ${otherName}: ${problem}.`,
  }
  const message = (found && messages[kind]) ?? `${name} ${problem}.`
  report(found?.at ?? job.commandAt, message, found?.isDefault)
}

/** The field that sets a path of the body, as it is written, and where the value is. */
function fieldOfPath(
  job: JobDefinition,
  path: string,
): { readonly name: string; readonly at: number; readonly isDefault: boolean } | undefined {
  const steps = path.split('.')
  for (let length = steps.length; length > 0; length--) {
    const start = steps.slice(0, length).join('.')
    for (const [name, { field, node, isDefault }] of job.fields) {
      if (!('path' in field) || field.path?.join('.') !== start) continue
      const inner = steps.slice(length)
      return { name: [name, ...inner].join('.'), at: nodeAt(node, inner).at, isDefault }
    }
  }
  return undefined
}

/**
 * What is wrong with the extension of an output: the name must not enter the request, so it has to fit what the fields
 * ask for.
 */
function formatProblem(
  { command }: JobDefinition,
  body: Readonly<Record<string, unknown>>,
  output: string,
  known: Model | undefined,
): string | undefined {
  const { creates, endpoint } = creatingCommands[command]
  const promised = output.endsWith('}') ? undefined : mediaTypeOfName(output)
  const kind = /^(?:image|video|audio)(?=\/)/.exec(promised ?? '')?.[0]
  if (promised === undefined || (kind ?? 'text') !== creates) {
    return promised === undefined || kind === undefined
      ? undefined
      : `out names ${promised}, but ${command} makes ${nouns[creates][1]}.`
  }
  const format = endpoint.fields['output_format']
  if (creates !== 'image' || format === undefined) return undefined
  const given = body['output_format'] ?? undefined
  if (given !== undefined) {
    const isFitting = `image/${String(given)}` === promised
    return isFitting ? undefined : `out names ${promised}, but output_format is ${JSON.stringify(given)}.`
  }
  const limits = known?.family?.endpoints[endpoint.name!]?.['output_format']
  // What models without a known format deliver shows itself.
  if (limits === undefined || promised === `image/${String(format.default)}`) return undefined
  const fitting = limits === false ? undefined : limits.values?.find((word) => `image/${word}` === promised)
  const hint = fitting === undefined ? '.' : `: set output_format to ${fitting}.`
  return `out names ${promised}, but ${subjectOf(known!)} delivers ${String(format.default)}${hint}`
}
