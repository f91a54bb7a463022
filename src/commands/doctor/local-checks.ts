import { arch } from 'node:os'
import { findProjectFile, findUserFile } from '../../config/find-config-file.ts'
import { settingTable } from '../../config/setting-table.ts'
import { resolveSettings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { isProblem } from '../../problems.ts'
import { nearestName } from '../../nearest-name.ts'
import { hasHyperlinks } from '../../output/markdown/hyperlinks.ts'
import { detectProtocol, hasTrueColour } from '../../output/preview/detect-protocol.ts'
import { environmentRows } from '../help/topics.ts'
import type { CommonOptions } from '../shared/options/common-options.ts'
import { failedBy, ok, skipped, warning, type Finding } from './finding.ts'

/** A version below these does not start the program. */
const supported = 'supported versions: 22.22.2, 24.15.0, 26 and newer'

export function checkNode({ nodeVersion, platform }: Context): Finding {
  const [major = 0] = nodeVersion.split('.').map(Number)
  const text = `${nodeVersion} on ${platform} ${arch()}`
  return major % 2 === 1 && major < 26
    ? warning(`${text}; ${supported}`, 'Use a version with long-term support.')
    : ok(text)
}

/** What the terminal can show; a script needs none. */
export async function checkTerminal(context: Context): Promise<Finding> {
  const { stdout, stderr, env } = context
  const screen = stdout.isTerminal ? stdout : stderr.isTerminal ? stderr : undefined
  if (screen === undefined) return skipped('no terminal: plain text is printed')
  if (env['TERM'] === 'dumb')
    return warning('TERM is dumb: plain text is printed', 'Set TERM to the type of your terminal.')
  const facts = [
    `${screen.columns} columns`,
    colours(context),
    `pictures: ${detectProtocol(env)}`,
    hasHyperlinks(context) ? 'links' : 'no links',
  ]
  if (!speaksUtf8(context)) {
    const remedy = 'Set LANG to a locale with UTF-8, such as C.UTF-8; without it characters may be garbled.'
    return warning(`${facts.join(', ')}; the locale is not UTF-8`, remedy)
  }
  return ok(facts.join(', '))
}

function colours(context: Context): string {
  const { NO_COLOR, FORCE_COLOR } = context.env
  if (NO_COLOR && !FORCE_COLOR) return 'no colours (NO_COLOR)'
  return hasTrueColour(context) ? 'true colour' : 'colours'
}

/** As the C library reads the variables; Windows has no such. */
function speaksUtf8({ env, platform }: Context): boolean {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''
  return platform === 'win32' || platform === 'darwin' || /utf-?8/i.test(locale)
}

/** The flags, the files that are read, and variables that nothing reads. */
export async function checkConfiguration(context: Context, options: CommonOptions): Promise<Finding> {
  try {
    const settings = await resolveSettings(context, options)
    const [user, project] = [await findUserFile(context), await findProjectFile(context)]
    const files = [
      ...(user === undefined ? [] : [`user file ${user.path}`]),
      ...(project === undefined ? [] : [`project file ${project.path}`]),
    ]
    const own =
      settings.profile.value === settingTable.profile.default ? [] : [`profile ${settings.profile.value}`]
    const found = [...(files.length === 0 ? ['no file'] : files), ...own].join(', ')
    const stray = strayVariables(context.env)
    return stray.length === 0
      ? ok(found)
      : warning(`${found}; not read: ${stray.join(', ')}`, 'See: modelgate help environment')
  } catch (error) {
    // A configuration that cannot be used is what this check is for.
    if (isProblem(error)) return failedBy(error)
    throw error
  }
}

/** Variables with our prefix that nothing reads, each with the one that it may mean. */
function strayVariables(env: Context['env']): string[] {
  const known = environmentRows().flatMap(([names]) => names.split(', '))
  const given = Object.keys(env).filter((name) => name.startsWith('MODELGATE_') && env[name])
  return given
    .filter((name) => !known.includes(name))
    .map((name) => {
      const near = nearestName(
        name,
        known.filter((other) => other.startsWith('MODELGATE_')),
        3,
      )
      return near === undefined ? name : `${name} (did you mean ${near}?)`
    })
}
