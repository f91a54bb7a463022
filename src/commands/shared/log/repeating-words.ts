import { objectOf, type JsonObject } from '../../../json.ts'
import type { CommonOptions } from '../options/common-options.ts'

/** The options of any command, by their names as commander keeps them. */
type Options = Readonly<Record<string, unknown>>

/** Options whose effect no body holds: where the results go, what becomes of them, how the gateway is reached. */
const kept = {
  withValue: [
    'output',
    'preview',
    'baseUrl',
    'apiKeyFile',
    'caFile',
    'retry',
    'maxRetries',
    'pollInterval',
    'timeout',
    'connectTimeout',
    'firstByteTimeout',
    'idleTimeout',
    'progressTimeout',
  ],
  // Not `--force`: what may be overwritten is said each time.
  on: ['sandbox', 'allowHttp', 'strict', 'sidecar', 'savePartials', 'allowPrivateUrls', 'wait'],
  off: ['validate', 'download', 'check', 'wait'],
} as const

/** What is repeated of a request besides its body. */
interface Repeated {
  readonly command: string
  readonly model: string | null
  readonly profile: string | undefined
  readonly words?: readonly string[] | undefined
}

/**
 * The words of a command line that, with the body as `--body`, makes the same call again. How its result was shown
 * (`--json`) is not repeated.
 */
export function repeatingWords(
  { command, model, profile, words = [] }: Repeated,
  body: JsonObject,
  common: CommonOptions,
): string[] {
  const options = common as unknown as Options
  const named = model === null || body['model'] !== undefined ? [] : ['-m', model]
  return [
    ...command.split(' '),
    ...words,
    ...named,
    ...(profile === undefined ? [] : ['--profile', profile]),
    ...kept.withValue.flatMap((name) => {
      const value = options[name]
      return typeof value === 'string' ? [flagOf(name), value] : []
    }),
    ...kept.on.flatMap((name) => (options[name] === true ? [flagOf(name)] : [])),
    ...kept.off.flatMap((name) => (options[name] === false ? [flagOf(name, 'no-')] : [])),
    ...(options['schema'] === undefined ? [] : ['--schema', JSON.stringify(schemaIn(body))]),
  ]
}

function flagOf(name: string, no = ''): string {
  return `--${no}${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** The schema that `--schema` put into the body. */
function schemaIn(body: JsonObject): unknown {
  const { responseJsonSchema } = objectOf(body['generationConfig'])
  return responseJsonSchema ?? objectOf(objectOf(body['text'])['format'])['schema'] ?? {}
}
