import { settingTable } from '../../config/setting-table.ts'

/** Variables that are read besides those of the settings. */
const others: readonly (readonly [string, string])[] = [
  ['MODELGATE_API_KEY', 'the key'],
  ['MODELGATE_CONFIG_DIR', 'folder of the user file and the credentials'],
  ['HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY', 'proxies, and hosts that need none'],
  ['NODE_EXTRA_CA_CERTS', 'further certificate authorities (PEM file)'],
  ['NO_COLOR, FORCE_COLOR, TERM=dumb', 'colours on a terminal'],
  ['CI', 'never ask'],
  ['XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME', 'where files of the user live'],
]

/** Every variable that is read, each with the setting it stands for. */
export function environmentRows(): (readonly [string, string])[] {
  const settings = Object.values(settingTable).flatMap(({ env, file }) =>
    env === undefined ? [] : [[env, `setting ${file}`] as const],
  )
  return [...settings, ...others]
}

/** `modelgate help environment`. */
export function environmentTopic(): string {
  const rows = environmentRows().map(([name, about]) => `  ${name.padEnd(34)} ${about}`)
  return `Environment variables, below flags and above files:

${rows.join('\n')}

Order: flag, environment, project file, user file, default.
`
}
