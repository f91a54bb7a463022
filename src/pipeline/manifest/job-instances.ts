import { creatingCommands } from '../../contract/commands.ts'
import { checkBody, ignoredAdvice, subjectOf, type Violation } from '../../contract/field.ts'
import { familiesOf, modelCalled, modelWarnings, type Model } from '../../contract/known-models.ts'
import { mediaTypeOfName } from '../../files/media-type.ts'
import { literalTemplate } from '../../files/output-plan.ts'
import { modelSegment } from '../../gateway/url.ts'
import { objectOf } from '../../json.ts'
import { isProblem } from '../../problems.ts'
import type { JobDefinition } from './job-definition.ts'
import { fieldName, nouns } from './manifest-fields.ts'
import { referencesOf, type Asserts, type FieldValue, type Instance } from './manifest.ts'
import { bodyOf, outputCount } from './request-body.ts'
import { FieldReader, type Reading } from './resolve-field.ts'
import { memberOf, nodeAt, type YamlNode } from './yaml-nodes.ts'

/** Rows that are read at the same time: most of it is waiting for files. */
const batch = 64

/** The instances of a job, one a row; those with mistakes are left out. While its rows are not known, one stands for all. */
export async function readInstances(reading: Reading, job: JobDefinition): Promise<Instance[]> {
  const { name, rows } = job
  const readers =
    rows === null || rows === 'waiting'
      ? [new FieldReader(reading, job, rows)]
      : Array.from(rows, ([id, columns]) => new FieldReader(reading, job, columns, `${name}[${id}]`))
  const found: (Instance | undefined)[] = []
  for (let start = 0; start < readers.length; start += batch) {
    found.push(...(await Promise.all(readers.slice(start, start + batch).map(readInstance))))
  }
  return found.filter((one) => one !== undefined)
}

async function readInstance(reader: FieldReader): Promise<Instance | undefined> {
  const { job, isWaiting } = reader
  const { fanOut, problem } = job
  const fields: Record<string, FieldValue> = {}
  let isRead = true
  let isWhole = true
  for (const [name, written] of job.fields) {
    const isOpen = isWaiting && written.node.isTemplated
    const value = isOpen ? reader.checkWords(name, written.node) : await reader.field(written)
    if (value !== undefined) fields[name] = value
    else if (!isOpen) isRead = false
    isWhole &&= value !== undefined
  }
  // Braces in what is put into an output are no words of its template.
  const output = readOwn(reader, 'out', literalTemplate)
  const model = fields['model']?.kind === 'value' ? fields['model'].value : undefined
  const references = [
    ...(fanOut === null ? [] : [fanOut.source]),
    ...Object.values(fields).flatMap(referencesOf),
  ]
  const instance: Instance = {
    id: reader.instance,
    job: job.name,
    command: job.command,
    model: typeof model === 'string' ? model : null,
    fields,
    references: [...new Map(references.map((reference) => [reference.text, reference])).values()],
    output: output ?? '',
    count: 1,
    alt: readOwn(reader, 'alt') ?? null,
    asserts: await readAsserts(reader),
    ...job.settings,
  }
  for (const sentence of isWhole ? await reader.reading.files.sourceProblems(instance) : []) {
    reader.reportField(sentence.startsWith('mask ') ? 'mask' : 'image', sentence)
  }
  const count = checkInstance(reader, instance, isWhole)
  if (!isRead || output === undefined) return undefined
  return isWaiting
    ? { ...instance, count, output: '', waiting: { most: fanOut!.most, problem } }
    : { ...instance, count }
}

function readOwn(reader: FieldReader, name: string, escape?: (value: string) => string): string | undefined {
  const { own, node } = reader.job
  const entry = own[name] === undefined ? undefined : memberOf(node, name)
  return entry && reader.string(name, entry.node, escape)
}

async function readAsserts(reader: FieldReader): Promise<Asserts> {
  const { own, node } = reader.job
  const found: Record<string, unknown> = { ...objectOf(own['assert']) }
  for (const name of Object.keys(found)) {
    const written = nodeAt(node, ['assert', name])
    if (name === 'schema') found[name] = await reader.schema(name, written)
    if (name === 'matches') found[name] = readPattern(reader, written)
  }
  return found
}

function readPattern(reader: FieldReader, node: YamlNode): string | undefined {
  const pattern = reader.string('matches', node)
  try {
    return RegExp(pattern ?? '', 'u') && pattern
  } catch (error) {
    return reader.report(node, `matches is not a regular expression: ${(error as Error).message}.`)
  }
}

/**
 * Holds the request of an instance against the contract and the limits of its model's family, and reports what is wrong.
 * @param isWhole whether all fields could be read: otherwise missing ones are not reported
 * @returns how many outputs one result has
 */
function checkInstance(reader: FieldReader, instance: Instance, isWhole: boolean): number {
  const { job, reading } = reader
  const { mistakes, families, now } = reading
  const { endpoint, model, prompt } = creatingCommands[job.command]
  const report = (at: number, message: string) => mistakes.report(at, message, reader.instance)
  const said = instance.fields[prompt.name]
  if (said?.kind === 'text' && said.text?.trim() === '') {
    // One of no characters is found by the contract, where it has a limit for that.
    const isFound = said.text === '' && endpoint.fields[prompt.name]?.minLength !== undefined
    if (!isFound) reader.reportField(prompt.name, `${prompt.name} is empty.`)
  }
  const known = instance.model === null ? undefined : modelCalled(instance.model, families)
  for (const message of modelProblems(instance, known)) reader.reportField('model', message)
  try {
    const body = bodyOf(instance)
    for (const violation of checkBody(endpoint, body, known)) {
      const found = fieldOfPath(job, violation.path)
      // What is missing altogether has been reported with the job.
      if (violation.kind === 'required' && (found === undefined || !isWhole)) continue
      if (violation.kind === 'requires' && !isWhole) continue
      report(found?.at ?? job.commandAt, sentenceOf(job, violation))
    }
    const format = isWhole ? formatProblem(job, body, instance.output, known) : undefined
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
    value.kind === 'text' && value.source === null && /^@[\w./[\]#-]+$/.test(value.text ?? '')
      ? [`${job}: ${name} is sent as ${value.text}; { file: … } takes the text of a file or of a job.`]
      : [],
  )
}

function modelProblems({ command, fields, model: id }: Instance, known: Model | undefined): string[] {
  const { endpoint, model } = creatingCommands[command]
  const { name } = endpoint
  if (model.location === 'path' && fields['model'] !== undefined && !id) return ['model must be text.']
  if (known === undefined) return []
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

function sentenceOf(job: JobDefinition, { path, kind, problem, other = '' }: Violation): string {
  const [name, otherName] = [path, other].map((each) => fieldOfPath(job, each)?.name ?? each)
  if (kind === 'exclusive') return `${name} and ${otherName} cannot be used together: ${problem}.`
  return kind === 'requires' ? `${name} needs ${otherName}: ${problem}.` : `${name} ${problem}.`
}

function fieldOfPath(job: JobDefinition, path: string) {
  const steps = path.split('.')
  for (let length = steps.length; length > 0; length--) {
    const start = steps.slice(0, length).join('.')
    for (const [name, { field, node }] of job.fields) {
      if (!('path' in field) || field.path?.join('.') !== start) continue
      const inner = steps.slice(length)
      return { name: [name, ...inner].join('.'), at: nodeAt(node, inner).at }
    }
  }
  return undefined
}

/** The extension of an output does not enter the request, so it has to fit what the fields ask for. */
function formatProblem(
  { command, settings: { lane } }: JobDefinition,
  body: Readonly<Record<string, unknown>>,
  output: string,
  known: Model | undefined,
): string | undefined {
  const promised = output.endsWith('}') ? undefined : mediaTypeOfName(output)
  const kind = /^(?:image|video|audio)(?=\/)/.exec(promised ?? '')?.[0]
  if (kind === undefined) return undefined
  if (kind !== lane) {
    return `out names ${promised}, but ${command} makes ${nouns[lane][1]}.`
  }
  const { fields, name } = creatingCommands[command].endpoint
  const format = fields['output_format']
  if (lane !== 'image' || format === undefined) return undefined
  const given = body['output_format'] ?? undefined
  if (given !== undefined) {
    const isFitting = `image/${String(given)}` === promised
    return isFitting ? undefined : `out names ${promised}, but output_format is ${JSON.stringify(given)}.`
  }
  const limits = known?.family?.endpoints[name!]?.['output_format']
  // What models without a known format deliver shows itself.
  if (limits === undefined || promised === `image/${String(format.default)}`) return undefined
  const fitting = limits === false ? undefined : limits.values?.find((word) => `image/${word}` === promised)
  const hint = fitting === undefined ? '.' : `: set output_format to ${fitting}.`
  return `out names ${promised}, but ${subjectOf(known!)} delivers ${String(format.default)}${hint}`
}
