import { posix } from 'node:path'
import { sourceFacts } from './source-facts.ts'

/** Small files at the root, which need nothing: every part may use them. */
const common = [
  'errors',
  'json',
  'limits',
  'local-time',
  'loopback',
  'nearest-name',
  'platform',
  'growing-text',
  'quantities',
]

/** What each part of src/ may import from besides; its own files always. A part that is not listed may import nothing. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  main: ['program', 'output', 'context'],
  program: ['command-entries', 'commands', 'output', 'context'],
  'command-entries': ['commands', 'context'],
  commands: [
    'pipeline',
    'operations',
    'gateway',
    'output',
    'config',
    'sandbox',
    'files',
    'events',
    'cost',
    'contract',
    'problems',
    'context',
  ],
  pipeline: ['operations', 'gateway', 'redact', 'files', 'cost', 'events', 'contract', 'problems', 'context'],
  operations: ['gateway', 'files', 'cost', 'events', 'contract', 'problems', 'context'],
  gateway: ['files', 'events', 'cost', 'contract', 'context'],
  output: ['redact', 'files', 'events', 'cost', 'contract', 'context'],
  config: ['files', 'cost', 'contract', 'problems', 'context'],
  sandbox: ['redact', 'files', 'contract', 'context'],
  files: ['events', 'contract', 'context'],
  events: ['contract'],
  contract: [],
  cost: ['contract'],
  problems: [],
  redact: [],
  context: [],
}

/** The most lines of code that each folder of src/ and of test/ may have. */
export const ceilings: Readonly<Record<'src' | 'test', Readonly<Record<string, number>>>> = {
  src: {
    commands: 9265,
    config: 2178,
    context: 422,
    contract: 1425,
    cost: 259,
    events: 1499,
    files: 5483,
    gateway: 6609,
    operations: 5012,
    output: 5344,
    pipeline: 13_685,
    redact: 474,
    sandbox: 6747,
  },
  test: {
    action: 1089,
    bench: 1693,
    'black-box': 1637,
    commands: 5843,
    config: 1885,
    context: 204,
    contract: 672,
    cost: 258,
    crashes: 1026,
    documentation: 359,
    events: 137,
    faults: 3873,
    files: 4537,
    fixtures: 314,
    fuzz: 1780,
    gateway: 7276,
    mutations: 360,
    operations: 679,
    output: 3763,
    pictures: 531,
    pipeline: 11_000,
    platform: 199,
    program: 5091,
    redact: 512,
    release: 712,
    sandbox: 5839,
    specification: 1585,
    support: 5728,
  },
}

/** The only parts that may know a package. A package that is not listed is known to none. */
const packageOwners: Readonly<Record<string, readonly string[]>> = {
  '@codemirror/legacy-modes': ['output'],
  '@codemirror/streamparser': ['output'],
  '@fastify/busboy': ['sandbox'],
  '@inquirer/prompts': ['commands'],
  '@jsquash/jpeg': ['files'],
  '@jsquash/png': ['files'],
  '@jsquash/webp': ['files'],
  '@valibot/to-json-schema': ['config', 'events'],
  ajv: ['operations', 'sandbox'],
  aws4fetch: ['pipeline'],
  chalk: ['output'],
  'character-entities': ['output'],
  bullmq: ['pipeline'],
  commander: ['program', 'command-entries', 'commands'],
  cosmiconfig: ['config'],
  'csv-parse': ['pipeline'],
  'eventsource-parser': ['gateway'],
  ioredis: ['pipeline'],
  'js-yaml': ['config', 'pipeline'],
  'json-schema-faker': ['sandbox'],
  ora: ['output'],
  pg: ['pipeline'],
  'pg-connection-string': ['pipeline'],
  undici: ['gateway'],
  valibot: ['config', 'contract', 'events', 'pipeline', 'sandbox'],
  yaml: ['config', 'operations', 'pipeline'],
}

/** Only src/context.ts is the door to the process, to time and to chance. */
const contextOnly = [
  'process',
  'console',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'fetch',
  'Date.now',
  'Math.random',
  'performance.now',
]

/** Below the commands nothing knows of a command line, its terminal, and how a process ends. */
const commandLineOnly = ['stdin', 'stderr', 'isTerminal', 'env', 'argv', 'exitCode', 'exitCodes']
const belowCommands = new Set(['pipeline', 'operations', 'gateway', 'files', 'events', 'cost', 'contract'])

/** A manifest declares variables, and a run tells with which exit code each of its instances failed. */
const allowedInPipeline = new Set(['env', 'exitCode'])

/** Lines of a file, above which it has more than one concern. */
const maxLines = 600

/**
 * What is wrong with the place of one file in the whole, one sentence each.
 * @param path below src/, with slashes: `gateway/retry.ts`
 */
export function boundaryProblems(path: string, text: string): string[] {
  const { imports, names } = sourceFacts(text)
  const lines = text.split('\n').length - 1
  return [
    ...imports.flatMap((name) => importProblem(path, name)),
    ...contextOnly
      .filter((name) => path !== 'context.ts' && names.includes(name))
      .map((name) => `${path} uses ${name}; only context.ts may`),
    ...(belowCommands.has(areaOf(path)) ? commandLineProblems(path, text, names) : []),
    ...(lines > maxLines ? [`${path} has ${lines} lines, more than ${maxLines}`] : []),
  ]
}

function commandLineProblems(path: string, text: string, names: readonly string[]): string[] {
  const used = new Set(names.flatMap((name) => name.split('.')))
  return [
    ...commandLineOnly
      .filter((name) => used.has(name))
      .filter((name) => !(areaOf(path) === 'pipeline' && allowedInPipeline.has(name)))
      .map((name) => `${path} uses ${name}, which ${areaOf(path)} must not know`),
    // A part of it (`FileContext`, `OperationContext`, `Pick`) has no terminal.
    ...(/[:,(&|<] ?Context\b(?!\[|,)/.test(text) ? [`${path} takes the whole Context`] : []),
  ]
}

function importProblem(path: string, name: string): string[] {
  const from = areaOf(path)
  if (name.startsWith('.')) {
    const target = posix.join(posix.dirname(path), name)
    const to = areaOf(target)
    const isAllowed =
      to === from || [...(mayImport[from] ?? []), ...(from in mayImport ? common : [])].includes(to)
    return isAllowed ? [] : [`${path} imports ${target}: ${from} -> ${to}`]
  }
  if (/^node:(process|timers|console)/.test(name)) {
    return path === 'context.ts' ? [] : [`${path} imports ${name}; only context.ts may`]
  }
  if (name.startsWith('node:')) return []
  const owner = /^(?:@[^/]+\/)?[^/]+/.exec(name)![0]
  return packageOwners[owner]?.includes(from) ? [] : [`${path} imports ${name}, which ${from} must not know`]
}

/** `gateway/retry.ts` and `gateway/videos/…` are `gateway`; `main.ts` is `main`. */
function areaOf(path: string): string {
  return path.split('/')[0]!.replace(/\.ts$/, '')
}
