import { hash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { tuneForLongWork, type FileContext } from '../../context.ts'
import type { ModelFamilies } from '../../contract/known-models.ts'
import { UsageError } from '../../errors.ts'
import { systemCode } from '../../files/file-error.ts'
import { numberOf, objectOf, stringOf } from '../../json.ts'
import { keyFormIn } from '../../redact/key-forms.ts'
import { manifestName, projectOf } from '../project.ts'
import { createInputFiles, once, readText } from './input-files.ts'
import { readJobs, readShape } from './job-definition.ts'
import { readInstances } from './job-instances.ts'
import { fieldsOf, defaultLanes, manifestFields, variableName } from './manifest-fields.ts'
import { sourcesOf, type Instance, type Job, type Manifest } from './manifest.ts'
import { Mistakes } from './mistakes.ts'
import { checkOutputs, type TakenPath } from './output-paths.ts'
import { orderInstances } from './references.ts'
import { readVars, type Reading } from './resolve-field.ts'
import { readRows } from './rows.ts'
import { memberOf, parseManifest, type YamlNode } from './yaml-nodes.ts'

export interface ManifestOptions {
  readonly isSandbox: boolean
  /** The environment: for the variables that the manifest declares, and for the key, which no value may hold. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly families: ModelFamilies
}

const keyVariable = 'MODELGATE_API_KEY'

/** A shorter key may well be a part of a word. */
const minKeyLength = 8

const maxBytes = 8 * 1024 * 1024

/** In UTF-16 units: reading a longer one fills the memory with what is needed for a moment. */
const longText = 100_000

/** A run of more instances is long enough for its memory to matter. */
const manyInstances = 1_000

/** The absolute path of the given manifest, else of the nearest one upwards. @throws UsageError `manifest_invalid` */
export async function findManifest({ cwd }: FileContext, given: string | undefined): Promise<string> {
  if (given !== undefined) return resolve(cwd, given)
  for (let folder = cwd; ; folder = dirname(folder)) {
    const path = join(folder, manifestName)
    const found = await stat(path).catch(systemCode)
    // A file that exists and cannot be looked at is reported when it is read.
    if (typeof found === 'object' ? found.isFile() : !absentCodes.has(found)) return path
    if (dirname(folder) === folder) break
  }
  throw new UsageError(`There is no ${manifestName} here, nor in a folder above.`, {
    code: 'manifest_invalid',
    next: ['modelgate', 'run', 'init'],
    hint: 'Write one with modelgate run init, or name another manifest with -f FILE.',
  })
}

const absentCodes: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'EACCES'])

/**
 * Reads a manifest and all that it names, and holds every request that it makes against the contract.
 * @param path absolute
 * @throws UsageError `manifest_invalid` with every mistake as `FILE:LINE:COLUMN: message`; the signal's reason
 */
export async function readManifest(
  context: FileContext,
  path: string,
  options: ManifestOptions,
): Promise<Manifest> {
  const text = await readSource(context, relative(context.cwd, path) || path)
  // What has been paid for is judged after a signal, too.
  const steady = { ...context, signal: new AbortController().signal }
  const expanded = once((pairs) => {
    const texts = new Map(JSON.parse(pairs) as [string, string][])
    return parseSource(steady, path, { text, texts, expand }, options)
  })
  const expand: Manifest['expand'] = (texts) => expanded(JSON.stringify([...texts]))
  return await parseSource(context, path, { text, texts: new Map(), expand }, options)
}

interface Source extends Pick<Manifest, 'expand'> {
  readonly text: string
  readonly texts: ReadonlyMap<string, string>
}

async function parseSource(
  context: FileContext,
  path: string,
  { text, texts, expand }: Source,
  { isSandbox, env, families }: ManifestOptions,
): Promise<Manifest> {
  const project = projectOf(path, isSandbox)
  const key = env[keyVariable] ?? ''
  const secretIn = (text: string) =>
    key.length >= minKeyLength && text.includes(key) ? 'the key to the gateway' : keyFormIn(text)
  if (text.length > longText) tuneForLongWork()
  const mistakes = new Mistakes(relative(context.cwd, path) || path, text, secretIn)
  const root = await parseManifest(text, mistakes)
  const top = readShape(mistakes, root, manifestFields, 'the manifest')
  const files = createInputFiles(context, project.folder, secretIn, families)
  const reading: Reading = {
    mistakes,
    files,
    vars: await readVars(mistakes, root, files),
    usedVars: new Set(),
    variables: readVariables(mistakes, root, env),
    jobs: new Map(readJobs(mistakes, root).map((job) => [job.name, job])),
    families,
    now: context.clock.now(),
  }
  if ((await readRows(reading, texts)) > manyInstances) tuneForLongWork()
  const instances = new Map<string, Instance>()
  const jobs: Job[] = []
  for (const job of reading.jobs.values()) {
    context.signal.throwIfAborted()
    const own = await readInstances(reading, job)
    for (const instance of own) instances.set(instance.id, instance)
    jobs.push({ name: job.name, instances: own.map(({ id }) => id) })
  }
  for (const name of reading.vars.keys()) {
    if (!reading.usedVars.has(name)) mistakes.warnings.add(`No job uses \`\${var:${name}}\` of \`vars:\`.`)
  }
  const order = checkTogether(reading, instances, relative(project.folder, path))
  mistakes.throwIfAny()
  const { gateway, lock_prompts: locksPrompts, lanes, budget } = top
  const { creates, cost } = objectOf(budget)
  return {
    project,
    sha256: hash('sha256', text),
    gateway: stringOf(gateway) ?? null,
    budget: { creates: numberOf(creates), cost: numberOf(cost) },
    lanes: { ...defaultLanes, ...objectOf(lanes) },
    locksPrompts: locksPrompts === true,
    jobs,
    instances: new Map(order.map((id) => [id, instances.get(id)!])),
    warnings: [...mistakes.warnings],
    fanOuts: [...reading.jobs.values()].flatMap(({ fanOut }) => fanOut ?? []),
    expand,
  }
}

async function readSource(context: FileContext, shown: string): Promise<string> {
  const found = await readText(context, shown, shown, maxBytes)
  if (found.problem === undefined) return found.value
  const { at: { line, column } = { line: 1, column: 1 }, problem } = found
  throw new UsageError(`${shown}:${line}:${column}: ${problem}`, { code: 'manifest_invalid' })
}

function readVariables(mistakes: Mistakes, root: YamlNode, environment: ManifestOptions['env']) {
  const list = memberOf(root, 'env')?.node
  const variables = new Map<string, string | undefined>()
  for (const { at, node } of list?.kind === 'list' ? list.entries : []) {
    const { value } = node
    if (typeof value !== 'string') continue
    const name = JSON.stringify(value)
    if (value === keyVariable) mistakes.report(at, `${name} is the key to the gateway, not a value.`)
    else if (!variableName.test(value)) mistakes.report(at, `${name} cannot be the name of a variable.`)
    variables.set(value, Object.hasOwn(environment, value) ? environment[value] : undefined)
  }
  return variables
}

/**
 * Reports what is wrong with instances only together: references to several files, outputs in one place, and cycles.
 * @returns the ids, each after those that it needs
 */
function checkTogether(
  { mistakes, jobs }: Reading,
  instances: ReadonlyMap<string, Instance>,
  manifest: string,
): readonly string[] {
  const taken: TakenPath[] = [
    { path: manifest, what: 'the manifest' },
    { path: `${manifest.replace(/\.[^./]*$/, '')}.lock`, what: 'the lock' },
  ]
  for (const { id, job, command, fields } of instances.values()) {
    const what = `an input of ${JSON.stringify(id)}`
    for (const [name, value] of Object.entries(fields)) {
      const field = fieldsOf(command).get(name)
      const takesOne = field?.kind !== 'files' || !field.input.isList
      for (const source of sourcesOf(value)) {
        if ('path' in source) {
          taken.push({ path: source.path, what })
          continue
        }
        const { text, instance } = source.reference
        const count = instances.get(instance)?.count ?? 1
        const message = `${JSON.stringify(text)} is ${count} files; ${name} takes one.`
        if (count > 1 && takesOne) mistakes.report(jobs.get(job)!.fields.get(name)!.node.at, message, id)
      }
    }
  }
  for (const { name, own } of jobs.values()) {
    const path = stringOf(own['each']) ?? '@'
    if (!path.startsWith('@')) taken.push({ path, what: `the rows of ${name}` })
  }
  const placed = [...instances.values()].filter(({ waiting }) => waiting === undefined)
  checkOutputs(placed, taken, ({ id, job: name }, message) => {
    const job = jobs.get(name)!
    mistakes.report(memberOf(job.node, 'out')?.node.at ?? job.at, message, id)
  })
  const needsOf = (id: string) => (instances.get(id)?.references ?? []).map(({ instance }) => instance)
  const { order, cycles } = orderInstances(instances.keys(), needsOf)
  for (const cycle of cycles) {
    const way = cycle.map((id) => `@${id}`).join(' needs ')
    mistakes.report(jobs.get(instances.get(cycle[0]!)!.job)!.at, `The job depends on itself: ${way}.`)
  }
  return order
}
