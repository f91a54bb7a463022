import { settingTable } from '../../config/setting-table.ts'
import { formatExamples, type Example } from '../shared/examples.ts'
import { formatRows, wrap } from '../shared/help-layout.ts'

/** Variables that are read besides those of the settings. */
const others: readonly (readonly [string, string])[] = [
  ['MODELGATE_API_KEY', 'the key'],
  ['MODELGATE_CONFIG_DIR', 'folder of the user file and the credentials'],
  ['MODELGATE_STATE_DIR', 'folder of job records and rescued results'],
  ['HTTPS_PROXY, HTTP_PROXY', 'proxies, by the scheme of the address'],
  ['ALL_PROXY, NO_PROXY', 'the proxy for both, and hosts that need none'],
  ['NODE_EXTRA_CA_CERTS', 'further certificate authorities (PEM file)'],
  ['NO_COLOR, FORCE_COLOR, TERM=dumb', 'colours on a terminal'],
  ['CI', 'never ask'],
  ['XDG_CONFIG_HOME', 'where the user file lives'],
  ['XDG_STATE_HOME', 'where job records and rescued results live'],
]

const examples: readonly Example[] = [
  ['export MODELGATE_BASE_URL=https://HOST'],
  ['export MODELGATE_API_KEY=... MODELGATE_TEXT_MODEL=ID'],
  ['modelgate generate "Hello"'],
]

/** Every variable that is read, each with the setting it stands for. */
export function environmentRows(): (readonly [string, string])[] {
  const settings = Object.values(settingTable).flatMap(({ env, file }) =>
    env === undefined ? [] : [[env, `setting ${file}`] as const],
  )
  return [...settings, ...others]
}

/** `modelgate help environment`. */
export function environmentTopic(columns: number): string {
  return `${wrap('Environment variables, below flags and above files:', columns)}

${formatRows(environmentRows(), columns)}

${wrap('Order: flag, environment, project file, user file, default.', columns)}

${formatExamples(examples, columns)}`
}
