import type { ModelFamilies } from '../contract/known-models.ts'
import type { Prices } from '../cost/prices.ts'
import { defaultMaxRetries, defaultSeconds, pollSeconds } from '../limits.ts'
import {
  baseUrls,
  boolean,
  count,
  downloadHeaders,
  families,
  headers,
  historyMode,
  historyModes,
  origins,
  path,
  place,
  prices,
  renderMode,
  retryMode,
  retryModes,
  seconds,
  text,
  type Kind,
} from './setting-kinds.ts'

/** A setting. */
interface Row {
  /** What it is, for help and for the schema of configuration files: one clause. */
  readonly about: string
  /** Its type; times are in seconds. */
  readonly kind: Kind<unknown>
  readonly flag?: string
  /** Undefined where it has none. */
  readonly default?: unknown
  /** A project file comes with a cloned repository: it cannot set what could leak the key or cost money. */
  readonly project: 'may set' | 'only to a trusted origin' | 'only to lower it' | 'never'
  /** Ranks a value by how much it allows; a project file may only lower it. */
  allows?(value: unknown): number
  /** Says of a value that allows more what it would do, before `than` and the other value. */
  readonly wouldDo?: string
  /** Joins the values of all sources, the strongest first, instead of the first source winning. */
  join?(values: readonly unknown[]): unknown
  /** It has no environment variable. */
  readonly onlyInFiles?: true
  /** Its values are by name, and can be set one by one. */
  readonly isMapping?: true
}

/** Of two values with one name, the stronger source's. */
function joined(mappings: readonly object[]): object {
  return Object.assign(Object.create(null), ...mappings.toReversed())
}

const noPrices: Prices = Object.freeze(Object.create(null) as Prices)
const noHeaders = Object.freeze(Object.create(null) as Record<string, never>)
const noFamilies: ModelFamilies = Object.freeze(Object.create(null) as ModelFamilies)

const rows = {
  baseUrl: {
    about: 'address of the gateway',
    kind: text,
    flag: 'baseUrl',
    project: 'only to a trusted origin',
  },
  baseUrls: {
    about: 'addresses of a gateway that keeps the two styles at different roots: v1 and v1beta',
    kind: baseUrls,
    project: 'only to a trusted origin',
    onlyInFiles: true,
    isMapping: true,
  },
  profile: {
    about: 'named profile of the configuration',
    kind: text,
    flag: 'profile',
    default: 'default',
    project: 'may set',
  },
  textModel: {
    about: 'model of generate and respond',
    kind: text,
    flag: 'model',
    project: 'may set',
  },
  imageModel: {
    about: 'model of the image commands',
    kind: text,
    flag: 'model',
    project: 'may set',
  },
  videoModel: {
    about: 'model of the video commands',
    kind: text,
    flag: 'model',
    project: 'may set',
  },
  apiKeyFile: {
    about: 'file that holds the key',
    kind: path,
    flag: 'apiKeyFile',
    project: 'never',
  },
  apiKeyCommand: {
    about: 'command that prints the key',
    kind: text,
    project: 'never',
  },
  trustedOrigins: {
    about: 'origins that a project file may name as base URL',
    kind: origins,
    default: [],
    project: 'never',
    join: (lists: readonly string[][]) => [...new Set(lists.flat())],
  },
  connectTimeout: {
    about: 'seconds for connecting',
    kind: seconds,
    flag: 'connectTimeout',
    default: defaultSeconds.connect,
    project: 'may set',
  },
  firstByteTimeout: {
    about: 'seconds until the first byte of a reply',
    kind: seconds,
    flag: 'firstByteTimeout',
    // The default depends on streaming: `defaultSeconds.firstByte`.
    project: 'may set',
  },
  idleTimeout: {
    about: 'seconds between two bytes',
    kind: seconds,
    flag: 'idleTimeout',
    default: defaultSeconds.idle,
    project: 'may set',
  },
  progressTimeout: {
    about: 'seconds between two events that mean something',
    kind: seconds,
    flag: 'progressTimeout',
    default: defaultSeconds.progress,
    project: 'may set',
  },
  timeout: {
    about: 'seconds for the whole request, or for a wait',
    kind: seconds,
    flag: 'timeout',
    project: 'may set',
  },
  pollInterval: {
    about: 'seconds before the first look-up of a job',
    kind: seconds,
    flag: 'pollInterval',
    default: pollSeconds.first,
    project: 'may set',
  },
  maxRetries: {
    about: 'how often a request is sent again',
    kind: count,
    flag: 'maxRetries',
    default: defaultMaxRetries,
    project: 'only to lower it',
    allows: (retries: number) => retries,
    wouldDo: 'send requests more often',
  },
  retry: {
    about: 'what to retry: never, safe or always',
    kind: retryMode,
    flag: 'retry',
    default: 'safe',
    project: 'only to lower it',
    allows: (mode: (typeof retryModes)[number]) => retryModes.indexOf(mode),
    wouldDo: 'send requests more often',
  },
  idempotencyHonoured: {
    about: 'whether the gateway honours Idempotency-Key, so that creating is safe to repeat',
    kind: boolean,
    default: false,
    project: 'never',
  },
  caFile: {
    about: 'certificate authority to trust (PEM file)',
    kind: path,
    flag: 'caFile',
    project: 'never',
  },
  allowHttp: {
    about: 'allow an http:// base URL on another host',
    kind: boolean,
    flag: 'allowHttp',
    default: false,
    project: 'never',
  },
  outputDir: {
    about: 'folder for results without -o',
    kind: path,
    project: 'may set',
  },
  families: {
    about: 'families of model ids, with their limits',
    kind: families,
    default: noFamilies,
    project: 'may set',
    onlyInFiles: true,
    isMapping: true,
    join: joined,
  },
  prices: {
    about: 'what models cost, for estimates',
    kind: prices,
    default: noPrices,
    // A low price would defeat --max-cost.
    project: 'never',
    onlyInFiles: true,
    isMapping: true,
    join: joined,
  },
  headers: {
    about: 'headers of your own for the gateway; a value may be @FILE or env:NAME',
    kind: headers,
    flag: 'header',
    default: noHeaders,
    project: 'never',
    isMapping: true,
    join: joined,
  },
  downloadHeaders: {
    about: 'headers for downloads of results, by the origin that they lie at',
    kind: downloadHeaders,
    default: noHeaders,
    project: 'never',
    onlyInFiles: true,
    isMapping: true,
    join: joined,
  },
  quiet: {
    about: 'no messages on standard error, except errors',
    kind: boolean,
    flag: 'quiet',
    default: false,
    project: 'may set',
  },
  noStdin: {
    about: 'do not read standard input',
    kind: boolean,
    flag: 'noStdin',
    default: false,
    project: 'may set',
  },
  render: {
    about: 'whether the Markdown of an answer is shown: auto (on a terminal), always or never',
    kind: renderMode,
    flag: 'render',
    default: 'auto',
    project: 'may set',
  },
  queue: {
    about: 'address of the queue that runs and workers share',
    kind: text,
    flag: 'queue',
    project: 'never',
  },
  store: {
    about: 'folder, or s3://bucket/prefix, that runs and workers share for files',
    kind: place,
    flag: 'store',
    project: 'never',
  },
  history: {
    about: 'what the log keeps of a call: off (the facts) or full (what was said, too; where CI is set, off)',
    kind: historyMode,
    default: 'full',
    project: 'only to lower it',
    allows: (mode: (typeof historyModes)[number]) => historyModes.indexOf(mode),
    wouldDo: 'record more of a call',
  },
} as const satisfies Readonly<Record<string, Row>>

type Rows = typeof rows
export type SettingName = keyof Rows

type ValueOf<Own extends Row> =
  | (Own['kind'] extends Kind<infer Value> ? Value : never)
  | (Own extends { readonly default: unknown } ? never : undefined)

/** What can be configured. Times are in seconds. */
export type SettingValues = { readonly [Name in SettingName]: ValueOf<Rows[Name]> }

type FlagName = Extract<Rows[SettingName], { readonly flag: string }>['flag']

/**
 * The flags that are settings, as the parser has them. With `sandbox` the built-in gateway is used: the base URL is
 * neither used nor checked.
 */
export type SettingFlags = { readonly [Name in FlagName | 'sandbox']?: unknown }

export const settingNames = Object.keys(rows) as SettingName[]

type SettingRow<Own extends Row> = Omit<Row, keyof Own> &
  Own & {
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
    return [name, { ...row, file, env }]
  }),
) as { readonly [Name in SettingName]: SettingRow<Rows[Name]> }

/** As the user types it: `baseUrl` is `--base-url`. */
export function flagName(flag: string): string {
  return `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
