import { defaultMaxRetries, defaultSeconds, pollSeconds } from '../contract/limits.ts'
import * as kind from './setting-kind.ts'
import type { Kind } from './setting-kind.ts'

/** What the program is told by its surroundings. Times are in seconds. */
export interface SettingValues {
  readonly baseUrl: string | undefined
  readonly profile: string
  readonly textModel: string | undefined
  readonly imageModel: string | undefined
  readonly videoModel: string | undefined
  readonly apiKeyFile: string | undefined
  readonly apiKeyCommand: string | undefined
  readonly trustedOrigins: readonly string[]
  readonly connectTimeout: number
  /** Undefined: `defaultSeconds.firstByte`, by whether the reply is streamed. */
  readonly firstByteTimeout: number | undefined
  readonly idleTimeout: number
  readonly progressTimeout: number
  /** Of the whole call; undefined: none. */
  readonly timeout: number | undefined
  /** Before the first look-up of a job. */
  readonly pollInterval: number
  readonly maxRetries: number
  readonly retry: 'never' | 'safe' | 'always'
  readonly idempotencyHonoured: boolean
  readonly caFile: string | undefined
  readonly allowHttp: boolean
  readonly outputDir: string | undefined
  readonly families: Readonly<Record<string, string>>
  readonly quiet: boolean
  readonly noStdin: boolean
}

export type SettingName = keyof SettingValues

export interface SettingRow<Value> {
  readonly kind: Kind<NonNullable<Value>>
  /** Its name in configuration files. */
  readonly file: string
  readonly env?: `MODELGATE_${string}`
  readonly flag?: keyof SettingFlags
  readonly default: Value
  /** A project file comes with a cloned repository: what could lead a key astray, or cost money, is closed to it. */
  readonly project: 'may set' | 'only to a trusted origin' | 'only to lower it' | 'never'
  /** How much a value allows, where a project file may only lower that. */
  readonly allows?: (value: NonNullable<Value>) => number
  /** Every place adds to the list, instead of the first place winning. */
  readonly adds?: true
}

/** From the one that repeats least to the one that repeats most. */
const retryModes = ['never', 'safe', 'always'] as const

/** Every setting there is. */
export const settingTable: { readonly [Name in SettingName]: SettingRow<SettingValues[Name]> } = {
  baseUrl: {
    kind: kind.text,
    file: 'base_url',
    env: 'MODELGATE_BASE_URL',
    flag: 'baseUrl',
    default: undefined,
    project: 'only to a trusted origin',
  },
  profile: {
    kind: kind.text,
    file: 'profile',
    env: 'MODELGATE_PROFILE',
    flag: 'profile',
    default: 'default',
    project: 'may set',
  },
  textModel: {
    kind: kind.text,
    file: 'text_model',
    env: 'MODELGATE_TEXT_MODEL',
    flag: 'model',
    default: undefined,
    project: 'may set',
  },
  imageModel: {
    kind: kind.text,
    file: 'image_model',
    env: 'MODELGATE_IMAGE_MODEL',
    flag: 'model',
    default: undefined,
    project: 'may set',
  },
  videoModel: {
    kind: kind.text,
    file: 'video_model',
    env: 'MODELGATE_VIDEO_MODEL',
    flag: 'model',
    default: undefined,
    project: 'may set',
  },
  apiKeyFile: {
    kind: kind.path,
    file: 'api_key_file',
    env: 'MODELGATE_API_KEY_FILE',
    flag: 'apiKeyFile',
    default: undefined,
    project: 'never',
  },
  apiKeyCommand: {
    kind: kind.text,
    file: 'api_key_command',
    env: 'MODELGATE_API_KEY_COMMAND',
    default: undefined,
    project: 'never',
  },
  trustedOrigins: {
    kind: kind.origins,
    file: 'trusted_origins',
    env: 'MODELGATE_TRUSTED_ORIGINS',
    default: [],
    project: 'never',
    adds: true,
  },
  connectTimeout: {
    kind: kind.seconds,
    file: 'connect_timeout',
    env: 'MODELGATE_CONNECT_TIMEOUT',
    flag: 'connectTimeout',
    default: defaultSeconds.connect,
    project: 'may set',
  },
  firstByteTimeout: {
    kind: kind.seconds,
    file: 'first_byte_timeout',
    env: 'MODELGATE_FIRST_BYTE_TIMEOUT',
    flag: 'firstByteTimeout',
    default: undefined,
    project: 'may set',
  },
  idleTimeout: {
    kind: kind.seconds,
    file: 'idle_timeout',
    env: 'MODELGATE_IDLE_TIMEOUT',
    flag: 'idleTimeout',
    default: defaultSeconds.idle,
    project: 'may set',
  },
  progressTimeout: {
    kind: kind.seconds,
    file: 'progress_timeout',
    env: 'MODELGATE_PROGRESS_TIMEOUT',
    flag: 'progressTimeout',
    default: defaultSeconds.progress,
    project: 'may set',
  },
  timeout: {
    kind: kind.seconds,
    file: 'timeout',
    env: 'MODELGATE_TIMEOUT',
    flag: 'timeout',
    default: undefined,
    project: 'may set',
  },
  pollInterval: {
    kind: kind.seconds,
    file: 'poll_interval',
    env: 'MODELGATE_POLL_INTERVAL',
    flag: 'pollInterval',
    default: pollSeconds.first,
    project: 'may set',
  },
  maxRetries: {
    kind: kind.count,
    file: 'max_retries',
    env: 'MODELGATE_MAX_RETRIES',
    flag: 'maxRetries',
    default: defaultMaxRetries,
    project: 'only to lower it',
    allows: (count) => count,
  },
  retry: {
    kind: kind.choice(...retryModes),
    file: 'retry',
    env: 'MODELGATE_RETRY',
    flag: 'retry',
    default: 'safe',
    project: 'only to lower it',
    allows: (mode) => retryModes.indexOf(mode),
  },
  idempotencyHonoured: {
    kind: kind.truth,
    file: 'idempotency_honoured',
    env: 'MODELGATE_IDEMPOTENCY_HONOURED',
    default: false,
    project: 'never',
  },
  caFile: {
    kind: kind.path,
    file: 'ca_file',
    env: 'MODELGATE_CA_FILE',
    flag: 'caFile',
    default: undefined,
    project: 'never',
  },
  allowHttp: {
    kind: kind.truth,
    file: 'allow_http',
    env: 'MODELGATE_ALLOW_HTTP',
    flag: 'allowHttp',
    default: false,
    project: 'never',
  },
  outputDir: {
    kind: kind.path,
    file: 'output_dir',
    env: 'MODELGATE_OUTPUT_DIR',
    flag: 'outputDir',
    default: undefined,
    project: 'may set',
  },
  families: {
    kind: kind.families,
    file: 'families',
    default: Object.freeze(Object.create(null) as Record<string, string>),
    project: 'may set',
  },
  quiet: {
    kind: kind.truth,
    file: 'quiet',
    env: 'MODELGATE_QUIET',
    flag: 'quiet',
    default: false,
    project: 'may set',
  },
  noStdin: {
    kind: kind.truth,
    file: 'no_stdin',
    env: 'MODELGATE_NO_STDIN',
    flag: 'noStdin',
    default: false,
    project: 'may set',
  },
}

export const settingNames = Object.keys(settingTable) as SettingName[]

/** As a user types it: `baseUrl` is `--base-url`. */
export function flagName(flag: keyof SettingFlags): string {
  return `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** What the command line says. Times are in seconds; numbers may still be text. */
export interface SettingFlags {
  readonly profile?: string | undefined
  readonly baseUrl?: string | undefined
  readonly apiKeyFile?: string | undefined
  /** The model of this command, whatever its kind. */
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
  readonly allowHttp?: boolean | undefined
  readonly outputDir?: string | undefined
  readonly quiet?: boolean | undefined
  readonly noStdin?: boolean | undefined
  /** The built-in gateway is used: then no base URL is, and none is checked. */
  readonly sandbox?: boolean | undefined
}
