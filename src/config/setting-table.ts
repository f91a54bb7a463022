import type { ModelFamilies } from '../contract/known-models.ts'
import type { DownloadHeaders, HeaderSources } from './headers.ts'
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
  type BaseUrls,
  type Kind,
} from './setting-kinds.ts'

/** What can be configured. Times are in seconds. */
export interface SettingValues {
  readonly baseUrl: string | undefined
  readonly baseUrls: BaseUrls | undefined
  readonly profile: string
  readonly textModel: string | undefined
  readonly imageModel: string | undefined
  readonly videoModel: string | undefined
  readonly apiKeyFile: string | undefined
  readonly apiKeyCommand: string | undefined
  readonly trustedOrigins: readonly string[]
  readonly connectTimeout: number
  /** Undefined: `defaultSeconds.firstByte`, which depends on streaming. */
  readonly firstByteTimeout: number | undefined
  readonly idleTimeout: number
  readonly progressTimeout: number
  /** For the whole call; undefined: no limit. */
  readonly timeout: number | undefined
  /** Before the first look-up of a job. */
  readonly pollInterval: number
  readonly maxRetries: number
  readonly retry: 'never' | 'safe' | 'always'
  readonly idempotencyHonoured: boolean
  readonly caFile: string | undefined
  readonly allowHttp: boolean
  readonly outputDir: string | undefined
  /** The families of model ids; null for a model of none. */
  readonly families: ModelFamilies
  /** What models cost, by the user's own words; empty where nothing is known. */
  readonly prices: Prices
  /** Headers that every request to the gateway has. */
  readonly headers: HeaderSources
  /** Headers of downloads from other origins. */
  readonly downloadHeaders: DownloadHeaders
  readonly quiet: boolean
  readonly noStdin: boolean
  /** Whether the Markdown of an answer is shown: `auto` does so on a terminal. */
  readonly render: 'auto' | 'always' | 'never'
  /** Where the queue of several machines is; it may hold a password. */
  readonly queue: string | undefined
  /** The folder or bucket that these machines share, for their files. */
  readonly store: string | undefined
  readonly history: 'off' | 'metadata' | 'full'
}

export type SettingName = keyof SettingValues

/** The flags that are settings. Times are in seconds; numbers may still be text. */
export interface SettingFlags {
  readonly profile?: string | undefined
  readonly baseUrl?: string | undefined
  readonly apiKeyFile?: string | undefined
  /** The model for this command, whatever its kind. */
  readonly model?: string | undefined
  readonly timeout?: string | number | undefined
  readonly connectTimeout?: string | number | undefined
  readonly firstByteTimeout?: string | number | undefined
  readonly idleTimeout?: string | number | undefined
  readonly progressTimeout?: string | number | undefined
  readonly pollInterval?: string | number | undefined
  readonly maxRetries?: string | number | undefined
  readonly retry?: string | undefined
  readonly caFile?: string | undefined
  /** Lines `Name: value`. */
  readonly header?: readonly string[] | undefined
  readonly allowHttp?: boolean | undefined
  readonly quiet?: boolean | undefined
  readonly noStdin?: boolean | undefined
  readonly render?: string | undefined
  readonly queue?: string | undefined
  readonly store?: string | undefined
  /** Uses the built-in gateway; the base URL is neither used nor checked. */
  readonly sandbox?: boolean | undefined
}

interface Row<Value> {
  /** What it is, for help and for the schema of configuration files: one clause. */
  readonly about: string
  readonly kind: Kind<NonNullable<Value>>
  readonly flag?: keyof SettingFlags
  readonly default: Value
  /** A project file comes with a cloned repository: it cannot set what could leak the key or cost money. */
  readonly project: 'may set' | 'only to a trusted origin' | 'only to lower it' | 'never'
  /** Ranks a value by how much it allows; a project file may only lower it. */
  readonly allows?: (value: NonNullable<Value>) => number
  /** Says of a value that allows more what it would do, before `than` and the other value. */
  readonly wouldDo?: string
  /** Joins the values of all sources, the strongest first, instead of the first source winning. */
  readonly join?: (values: readonly NonNullable<Value>[]) => NonNullable<Value>
  /** It has no environment variable. */
  readonly onlyInFiles?: true
  /** Its values are by name, and can be set one by one. */
  readonly isMapping?: true
}

export interface SettingRow<Value> extends Row<Value> {
  /** Its name in configuration files: `connect_timeout`. */
  readonly file: string
  /** `MODELGATE_CONNECT_TIMEOUT`. */
  readonly env: string | undefined
}

/** Of two values with one name, the stronger source's. */
function joined(mappings: readonly object[]): object {
  return Object.assign(Object.create(null), ...mappings.toReversed())
}

const noPrices: Prices = Object.freeze(Object.create(null) as Prices)
const noHeaders = Object.freeze(Object.create(null) as Record<string, never>)
const noFamilies: ModelFamilies = Object.freeze(Object.create(null) as ModelFamilies)

const rows: { readonly [Name in SettingName]: Row<SettingValues[Name]> } = {
  baseUrl: {
    about: 'address of the gateway',
    kind: text,
    flag: 'baseUrl',
    default: undefined,
    project: 'only to a trusted origin',
  },
  baseUrls: {
    about: 'addresses of a gateway that keeps the two styles at different roots: v1 and v1beta',
    kind: baseUrls,
    default: undefined,
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
    default: undefined,
    project: 'may set',
  },
  imageModel: {
    about: 'model of the image commands',
    kind: text,
    flag: 'model',
    default: undefined,
    project: 'may set',
  },
  videoModel: {
    about: 'model of the video commands',
    kind: text,
    flag: 'model',
    default: undefined,
    project: 'may set',
  },
  apiKeyFile: {
    about: 'file that holds the key',
    kind: path,
    flag: 'apiKeyFile',
    default: undefined,
    project: 'never',
  },
  apiKeyCommand: {
    about: 'command that prints the key',
    kind: text,
    default: undefined,
    project: 'never',
  },
  trustedOrigins: {
    about: 'origins that a project file may name as base URL',
    kind: origins,
    default: [],
    project: 'never',
    join: (lists) => [...new Set(lists.flat())],
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
    default: undefined,
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
    default: undefined,
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
    allows: (retries) => retries,
    wouldDo: 'send requests more often',
  },
  retry: {
    about: 'what to retry: never, safe or always',
    kind: retryMode,
    flag: 'retry',
    default: 'safe',
    project: 'only to lower it',
    allows: (mode) => retryModes.indexOf(mode),
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
    default: undefined,
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
    default: undefined,
    project: 'may set',
  },
  families: {
    about: 'families of model ids, with their limits',
    kind: families,
    default: noFamilies,
    project: 'may set',
    onlyInFiles: true,
    isMapping: true,
    join: (mappings) => joined(mappings) as ModelFamilies,
  },
  prices: {
    about: 'what models cost, for estimates',
    kind: prices,
    default: noPrices,
    // A low price would defeat --max-cost.
    project: 'never',
    onlyInFiles: true,
    isMapping: true,
    join: (mappings) => joined(mappings) as Prices,
  },
  headers: {
    about: 'headers of your own for the gateway; a value may be @FILE or env:NAME',
    kind: headers,
    flag: 'header',
    default: noHeaders,
    project: 'never',
    isMapping: true,
    join: (mappings) => joined(mappings) as HeaderSources,
  },
  downloadHeaders: {
    about: 'headers for downloads of results, by the origin that they lie at',
    kind: downloadHeaders,
    default: noHeaders,
    project: 'never',
    onlyInFiles: true,
    isMapping: true,
    join: (mappings) => joined(mappings) as DownloadHeaders,
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
    default: undefined,
    project: 'never',
  },
  store: {
    about: 'folder, or s3://bucket/prefix, that runs and workers share for files',
    kind: place,
    flag: 'store',
    default: undefined,
    project: 'never',
  },
  history: {
    about: 'what the log keeps of a call: off (the facts) or full (what was said, too; where CI is set, off)',
    kind: historyMode,
    default: 'full',
    project: 'only to lower it',
    allows: (mode) => historyModes.indexOf(mode),
    wouldDo: 'record more of a call',
  },
}

export const settingNames = Object.keys(rows) as SettingName[]

/** Every setting. `connectTimeout` is `connect_timeout` in a file and `MODELGATE_CONNECT_TIMEOUT` in the environment. */
export const settingTable = Object.fromEntries(
  settingNames.map((name) => {
    const file = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    const env = rows[name].onlyInFiles ? undefined : `MODELGATE_${file.toUpperCase()}`
    return [name, { ...rows[name], file, env }]
  }),
) as unknown as { readonly [Name in SettingName]: SettingRow<SettingValues[Name]> }

/** As the user types it: `baseUrl` is `--base-url`. */
export function flagName(flag: keyof SettingFlags): string {
  return `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
