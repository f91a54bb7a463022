import * as v from 'valibot'
import type { ModelFamilies } from '../contract/known-models.ts'
import type { Prices } from '../cost/prices.ts'
import { defaultMaxRetries, defaultSeconds, pollSeconds } from '../limits.ts'
import type { DownloadHeaders, HeaderSources } from './headers.ts'

/** The type of a setting, and how it is parsed from text (environment, command line). */
export interface Kind<Value> {
  readonly schema: v.GenericSchema<unknown, Value> | (() => Promise<v.GenericSchema<unknown, Value>>)
  /** All values, from the one that allows least. */
  readonly words?: readonly Value[]
  /** By default a text is taken as it is. */
  fromText?(text: string): unknown
  /** Makes the paths in a value absolute, which are relative to the folder of the file that names it. */
  locate?(value: Value, absolute: (path: string) => string): Value
}

const text: Kind<string> = { schema: oneLine('must be text') }

const path: Kind<string> = {
  schema: oneLine('must be the path of a file or folder'),
  locate: (value, absolute) => absolute(value),
}

/** A folder, or the address of something else. */
const place: Kind<string> = {
  schema: oneLine('must be a folder or an address'),
  locate: (value, absolute) => (/^[a-z][a-z\d+.-]+:/i.test(value) ? value : absolute(value)),
}

const seconds: Kind<number> = {
  schema: firstProblem(
    'must be a number of seconds greater than 0',
    v.pipe(v.number(), v.finite(), v.gtValue(0)),
  ),
  fromText: numberFrom,
}

const count: Kind<number> = {
  schema: firstProblem(
    'must be a whole number from 0 to 100',
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100)),
  ),
  fromText: numberFrom,
}

const booleanWords: ReadonlyMap<string, boolean> = new Map([
  ...['true', 'yes', 'on', '1'].map((word) => [word, true] as const),
  ...['false', 'no', 'off', '0'].map((word) => [word, false] as const),
])
export const boolean: Kind<boolean> = {
  schema: v.boolean('must be true or false'),
  fromText: (value) => booleanWords.get(value.toLowerCase()) ?? value,
}

const origins: Kind<readonly string[]> = {
  schema: v.array(
    firstProblem(
      'must be an origin such as https://gateway.example',
      v.pipe(
        v.string(),
        v.regex(/^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^/]/),
        v.check((value) => URL.canParse(value)),
        v.transform((value) => new URL(value).origin),
      ),
    ),
    'must be a list of origins',
  ),
  fromText: (value) => value.split(/[\s,]+/).filter((part) => part !== ''),
}

function oneOf<const Word extends string>(words: readonly Word[]): Kind<Word> {
  return { schema: v.picklist(words, `must be one of ${words.join(', ')}`), words }
}

/** The roots of the two styles, where they differ. */
export interface BaseUrls<Address = string> {
  readonly v1: Address
  readonly v1beta: Address
}

const baseUrls: Kind<BaseUrls> = {
  schema: v.strictObject(
    { v1: oneLine('must be an address'), v1beta: oneLine('must be an address') },
    'must have the addresses v1 and v1beta',
  ),
}

const headers: Kind<HeaderSources> = {
  // Loaded only where there are any.
  schema: async () => (await import('./headers.ts')).headerSources,
  fromText: (value) => value.split(/\r?\n/).filter((part) => part.trim() !== ''),
  locate: located,
}

const downloadHeaders: Kind<DownloadHeaders> = {
  schema: async () => (await import('./headers.ts')).downloadHeaders,
  locate: (value, absolute) => mapped(value, (inner) => located(inner, absolute)),
}

function located(value: HeaderSources, absolute: (path: string) => string): HeaderSources {
  return mapped(value, (source) => (source.startsWith('@') ? `@${absolute(source.slice(1))}` : source))
}

function mapped<Value>(
  values: Readonly<Record<string, Value>>,
  change: (value: Value) => Value,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]))
}

// These are loaded only when a file has the setting.
const prices: Kind<Prices> = { schema: async () => (await import('./model-prices.ts')).modelPrices }
const families: Kind<ModelFamilies> = {
  schema: async () => (await import('./model-families.ts')).modelFamilies,
}

/** One message for all rules of a value, which say the same in other words. */
function firstProblem<Schema extends v.GenericSchema>(message: string, schema: Schema): Schema {
  return v.config(schema, { abortPipeEarly: true, message })
}

/** Text that is not blank, without control characters. */
function oneLine(message: string) {
  return v.pipe(
    v.string(message),
    v.regex(/^(?=[\s\S]*\S)[^\u0000-\u001f\u007f]+$/, ({ input }) =>
      input.trim() === '' ? message : 'contains a line break or another control character',
    ),
  )
}

function numberFrom(value: string): unknown {
  return /^-?\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : value
}

interface Row {
  /** What it is, for help and for the schema of configuration files: one clause. */
  readonly about: string
  /** Its type; times are in seconds. */
  readonly kind: Kind<unknown>
  /** True if it has the name of the setting. */
  readonly flag?: string | true
  readonly default?: unknown
  /**
   * Whether a project file may set it. It comes with a cloned repository: what could leak the key or cost money is
   * closed to it, and so is what has none of these.
   */
  readonly project?: 'may set' | 'only to a trusted origin' | 'only to lower it'
  /** Says of a value that allows more what it would do, before `than` and the other value. */
  readonly wouldDo?: string
  /** Joins the values of all sources, the strongest first, instead of the first source winning. */
  join?(values: readonly unknown[]): unknown
  readonly onlyInFiles?: true
  /** It is not shown: a command may have a key in its words, an address a password. */
  readonly isSecret?: true
  /** Its values are by name, and can be set one by one. */
  readonly isMapping?: true
}

/** A flag of the same name, which a project file may set as well. */
const open = { flag: true, project: 'may set' } as const

/** Mappings by name; of two values with one name, the stronger source's. */
const byName = {
  default: Object.freeze(Object.create(null) as Record<string, never>),
  isMapping: true,
  join: (mappings: readonly object[]): object => Object.assign(Object.create(null), ...mappings.toReversed()),
} as const

function setting<Value, const Facts extends Partial<Row>>(kind: Kind<Value>, about: string, facts: Facts) {
  return { kind, about, ...facts }
}

const rows = {
  baseUrl: setting(text, 'address of the gateway', { flag: true, project: 'only to a trusted origin' }),
  baseUrls: setting(
    baseUrls,
    'addresses of a gateway that keeps the two styles at different roots: v1 and v1beta',
    { project: 'only to a trusted origin', onlyInFiles: true, isMapping: true },
  ),
  profile: setting(text, 'named profile of the configuration', { ...open, default: 'default' }),
  textModel: setting(text, 'model of generate and respond', { flag: 'model', project: 'may set' }),
  imageModel: setting(text, 'model of the image commands', { flag: 'model', project: 'may set' }),
  videoModel: setting(text, 'model of the video commands', { flag: 'model', project: 'may set' }),
  apiKeyFile: setting(path, 'file that holds the key', { flag: true }),
  apiKeyCommand: setting(text, 'command that prints the key', { isSecret: true }),
  trustedOrigins: setting(origins, 'origins that a project file may name as base URL', {
    default: [],
    join: (lists: readonly string[][]) => [...new Set(lists.flat())],
  }),
  connectTimeout: setting(seconds, 'seconds for connecting', { ...open, default: defaultSeconds.connect }),
  // The default depends on streaming: `defaultSeconds.firstByte`.
  firstByteTimeout: setting(seconds, 'seconds until the first byte of a reply', open),
  idleTimeout: setting(seconds, 'seconds between two bytes', { ...open, default: defaultSeconds.idle }),
  progressTimeout: setting(seconds, 'seconds between two events that mean something', {
    ...open,
    default: defaultSeconds.progress,
  }),
  timeout: setting(seconds, 'seconds for the whole request, or for a wait', open),
  pollInterval: setting(seconds, 'seconds before the first look-up of a job', {
    ...open,
    default: pollSeconds.first,
  }),
  maxRetries: setting(count, 'how often a request is sent again', {
    flag: true,
    default: defaultMaxRetries,
    project: 'only to lower it',
    wouldDo: 'send requests more often',
  }),
  retry: setting(oneOf(['never', 'safe', 'always']), 'what to retry: never, safe or always', {
    flag: true,
    default: 'safe',
    project: 'only to lower it',
    wouldDo: 'send requests more often',
  }),
  idempotencyHonoured: setting(
    boolean,
    'whether the gateway honours Idempotency-Key, so that creating is safe to repeat',
    { default: false },
  ),
  caFile: setting(path, 'certificate authority to trust (PEM file)', { flag: true }),
  allowHttp: setting(boolean, 'allow an http:// base URL on another host', { flag: true, default: false }),
  outputDir: setting(path, 'folder for results without -o', { project: 'may set' }),
  families: setting(families, 'families of model ids, with their limits', {
    ...byName,
    project: 'may set',
    onlyInFiles: true,
  }),
  // Not in a project file: a low price would defeat --max-cost.
  prices: setting(prices, 'what models cost, for estimates', { ...byName, onlyInFiles: true }),
  headers: setting(headers, 'headers of your own for the gateway; a value may be @FILE or env:NAME', {
    ...byName,
    flag: 'header',
    isSecret: true,
  }),
  downloadHeaders: setting(
    downloadHeaders,
    'headers for downloads of results, by the origin that they lie at',
    { ...byName, onlyInFiles: true, isSecret: true },
  ),
  quiet: setting(boolean, 'no messages on standard error, except errors', { ...open, default: false }),
  noStdin: setting(boolean, 'do not read standard input', { ...open, default: false }),
  render: setting(
    oneOf(['auto', 'always', 'never']),
    'whether the Markdown of an answer is shown: auto (on a terminal), always or never',
    { ...open, default: 'auto' },
  ),
  queue: setting(text, 'address of the queue that runs and workers share', { flag: true, isSecret: true }),
  store: setting(place, 'folder, or s3://bucket/prefix, that runs and workers share for files', {
    flag: true,
  }),
  history: setting(
    // `metadata`, of earlier versions, is the same as `off`.
    oneOf(['off', 'metadata', 'full']),
    'what the log keeps of a call: off (the facts) or full (what was said, too; where CI is set, off)',
    {
      default: 'full',
      project: 'only to lower it',
      wouldDo: 'record more of a call',
    },
  ),
} satisfies Readonly<Record<string, Row>>

type Rows = typeof rows
export type SettingName = keyof Rows

type ValueOf<Own extends Row> =
  | (Own['kind'] extends Kind<infer Value> ? Value : never)
  | (Own extends { readonly default: unknown } ? never : undefined)

/** What can be configured. Times are in seconds. */
export type SettingValues = { readonly [Name in SettingName]: ValueOf<Rows[Name]> }

type FlagName = {
  [Name in SettingName]: Rows[Name] extends { readonly flag: infer Flag }
    ? Flag extends true
      ? Name
      : Flag
    : never
}[SettingName]

/**
 * The flags that are settings, as the parser has them. With `sandbox` the built-in gateway is used: the base URL is
 * neither used nor checked.
 */
export type SettingFlags = { readonly [Name in FlagName | 'sandbox']?: unknown }

export const settingNames = Object.keys(rows) as SettingName[]

/** Any setting, with its names. */
interface SettingRow extends Omit<Row, 'flag'> {
  readonly flag: string | undefined
  /** Its name in configuration files: `connect_timeout`. */
  readonly file: string
  /** `MODELGATE_CONNECT_TIMEOUT`. */
  readonly env: string | undefined
}

/** Every setting. `connectTimeout` is `connect_timeout` in a file and `MODELGATE_CONNECT_TIMEOUT` in the environment. */
export const settingTable = Object.fromEntries(
  Object.entries<Row>(rows).map(([name, row]) => {
    const file = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    const env = row.onlyInFiles ? undefined : `MODELGATE_${file.toUpperCase()}`
    return [name, { ...row, flag: row.flag === true ? name : row.flag, file, env }]
  }),
) as Readonly<Record<SettingName, SettingRow>>

/** By their names in files, in the order of the table. */
export const settingCalled: ReadonlyMap<string, SettingName> = new Map(
  settingNames.map((name) => [settingTable[name].file, name]),
)

/** As the user types it: `baseUrl` is `--base-url`. */
export function flagName(flag: string): string {
  return `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
