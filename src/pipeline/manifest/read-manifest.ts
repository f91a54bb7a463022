import { hash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { tuneForLongWork, type FileContext } from '../../context.ts'
import type { ModelFamilies } from '../../contract/known-models.ts'
import { UsageError } from '../../errors.ts'
import { systemCode } from '../../files/file-error.ts'
import { numberOf } from '../../json.ts'
import { keyFormIn } from '../../redact/key-forms.ts'
import { manifestName, projectOf } from '../project.ts'
import { assembleInstances } from './assemble-instances.ts'
import { createInputFiles, createSourceCheck, readText } from './input-files.ts'
import { readDefaults, readJobs } from './job-definition.ts'
import { defaultLanes, manifestFields, variableName } from './manifest-fields.ts'
import type { Manifest } from './manifest.ts'
import { createLocator, createMistakes } from './mistakes.ts'
import { readPart, readShape, type Reading } from './reading.ts'
import { memberOf, parseManifest, type YamlNode } from './yaml-nodes.ts'

export interface ManifestOptions {
  /** Whether results come from the sandbox, and are kept apart. */
  readonly isSandbox: boolean
  /** The environment: for the variables that the manifest declares, and for the key, which no value may hold. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The families of model ids that are configured. */
  readonly families: ModelFamilies
}

/** The variable that has the key to the gateway. */
const keyVariable = 'MODELGATE_API_KEY'

/** A shorter key may well be a part of a word. */
const minKeyLength = 8

/** Largest manifest, in bytes. */
const maxBytes = 8 * 1024 * 1024

/** In UTF-16 units: reading a longer one fills the memory with what is needed for a moment. */
const longText = 100_000

/**
 * The absolute path of the manifest: the one that is given, else the nearest `modelgate.yaml`, from the working directory
 * upwards.
 * @throws UsageError `manifest_missing`
 */
export async function findManifest({ cwd }: FileContext, given: string | undefined): Promise<string> {
  if (given !== undefined) return resolve(cwd, given)
  for (let folder = cwd; ; folder = dirname(folder)) {
    const path = join(folder, manifestName)
    if (await isFile(path)) return path
    if (dirname(folder) === folder) break
  }
  throw new UsageError(`There is no ${manifestName} here, nor in a folder above.`, {
    code: 'manifest_missing',
    next: ['modelgate', 'run', 'init'],
    hint: 'Write one with modelgate run init, or name another manifest with -f FILE.',
  })
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch (error) {
    // What is there and cannot be looked at is told when it is read.
    return !['ENOENT', 'ENOTDIR', 'EACCES'].includes(systemCode(error) ?? '')
  }
}

/**
 * Reads a manifest and all that it names, and holds every request that it makes against the contract. Nothing is sent.
 * @param path absolute
 * @throws UsageError `manifest_invalid` with every mistake as `FILE:LINE:COLUMN: message`; the reason of the context's
 * signal
 */
export async function readManifest(
  context: FileContext,
  path: string,
  { isSandbox, env: environment, families }: ManifestOptions,
): Promise<Manifest> {
  const project = projectOf(path, isSandbox)
  const { folder } = project
  const shown = (file: string) => relative(context.cwd, file) || file
  const key = environment[keyVariable] ?? ''
  const secretIn = (text: string) =>
    key.length >= minKeyLength && text.includes(key) ? 'the key to the gateway' : keyFormIn(text)
  const mistakes = createMistakes(secretIn, shown(path))
  const text = await readSource(context, shown(path))
  if (text.length > longText) tuneForLongWork()
  const positionOf = createLocator(text)
  const placeOf = (at: number) => ({ file: shown(path), ...positionOf(at) })
  const root = await parseManifest(text, (at, message) => mistakes.add(placeOf(at), message))
  if (root === undefined) return mistakes.refuse()
  const reading: Reading = {
    files: createInputFiles(context, folder),
    checkSources: createSourceCheck(context, folder, families),
    mistakes,
    placeOf,
    placeIn: (file, line, column) => ({ file: shown(resolve(folder, file)), line, column }),
    secretIn,
    variables: readVariables(root, environment),
    families,
  }
  reportUnusable(reading, root)
  reportVariables(reading, root)
  const imports = memberOf(root, 'imports')
  if (imports !== undefined) {
    const message = '`imports` is not read any more: name a file of another project by its path.'
    mistakes.add(placeOf(imports.at), message)
  }
  const known =
    root.kind === 'mapping' ? { ...root, entries: root.entries.filter((one) => one !== imports) } : root
  const top = readShape(reading, known, manifestFields, { what: 'the manifest' })
  if (root.kind !== 'mapping') return mistakes.refuse()
  const budget = readPart(reading, root, 'budget', manifestFields.budget.fields)
  const concurrency = readPart(reading, root, 'lanes', manifestFields.lanes.fields)
  const jobs = readJobs(reading, root, readDefaults(reading, root))
  const found = await assembleInstances(context, reading, { jobs, manifest: relative(folder, path) })
  mistakes.throwIfAny()
  const { gateway, lock_prompts: locksPrompts } = top
  return {
    project,
    sha256: hash('sha256', text),
    gateway: typeof gateway === 'string' ? gateway : null,
    budget: { creates: numberOf(budget['creates']), cost: numberOf(budget['cost']) },
    lanes: { ...defaultLanes, ...concurrency },
    locksPrompts: locksPrompts === true,
    ...found,
  }
}

/** @throws UsageError for a file that cannot be read, or is too large */
async function readSource(context: FileContext, shown: string): Promise<string> {
  const found = await readText(context, shown, maxBytes)
  if (found.problem === undefined) return found.value
  const { line = 1, column = 1, problem } = found
  throw new UsageError(`${shown}:${line}:${column}: ${problem}`, { code: 'manifest_invalid' })
}

/** The declared variables, with their values. */
function readVariables(root: YamlNode, environment: ManifestOptions['env']): Reading['variables'] {
  const list = memberOf(root, 'env')?.node
  const names =
    list?.kind === 'list' ? list.items.map((item) => (item.kind === 'scalar' ? item.value : null)) : []
  const declared = names.filter((name) => typeof name === 'string')
  const set = declared.filter((name) => Object.hasOwn(environment, name))
  return { declared, variables: Object.fromEntries(set.map((name) => [name, environment[name]])) }
}

function reportVariables({ mistakes, placeOf }: Reading, root: YamlNode): void {
  const list = memberOf(root, 'env')?.node
  for (const { at, ...item } of list?.kind === 'list' ? list.items : []) {
    if (item.kind !== 'scalar' || typeof item.value !== 'string') continue
    const name = JSON.stringify(item.value)
    if (item.value === keyVariable)
      mistakes.add(placeOf(at), `${name} is the key to the gateway, not a value.`)
    else if (!variableName.test(item.value)) {
      mistakes.add(placeOf(at), `${name} cannot be the name of a variable.`)
    }
  }
}

/** Reports secrets, and values that JSON does not have. */
function reportUnusable({ mistakes, placeOf, secretIn }: Reading, root: YamlNode): void {
  const checkText = (text: string, at: number) => {
    const secret = secretIn(text)
    if (secret !== undefined) {
      mistakes.addSecret(placeOf(at), `A manifest must not hold a secret, and here is ${secret}.`)
    }
    if (!text.isWellFormed()) mistakes.add(placeOf(at), 'The text contains half of a surrogate pair.')
  }
  const visited = new Set<YamlNode>()
  const visit = (node: YamlNode): void => {
    // Aliases lead to the same node.
    if (visited.has(node)) return
    visited.add(node)
    if (node.kind === 'list') node.items.forEach(visit)
    else if (node.kind === 'mapping') {
      for (const { name, at, node: inner } of node.entries) {
        checkText(name, at)
        visit(inner)
      }
    } else if (typeof node.value === 'string') checkText(node.value, node.at)
    else if (typeof node.value === 'number' && !Number.isFinite(node.value)) {
      mistakes.add(placeOf(node.at), 'The number has no finite value.')
    }
  }
  visit(root)
}
