import type { Context } from '../context.ts'
import { ConfigError } from '../errors.ts'
import { createProblemList } from '../problems.ts'
import { normaliseBaseUrl } from './base-url.ts'
import { editJson, type Change } from './edit/edit-json.ts'
import { editYaml } from './edit/edit-yaml.ts'
import { rewriteFile, type RewrittenFile } from './edit/rewrite-file.ts'
import { findUserFile, parseUserFile, userFilePath } from './find-config-file.ts'
import { userLayer, type FileLayer, type Layer } from './layers.ts'
import { configFolder } from './paths.ts'

export type { Change } from './edit/edit-json.ts'

/**
 * Changes settings in the user's own configuration file: the one that is read, wherever it is; else
 * `config.yaml` in the configuration folder, readable for its owner alone. Comments, order and white space of the rest
 * stay; so does the mode of the file, and a symbolic link to it. The new content replaces the old one at once, and only
 * if it can be read without any problem.
 *
 * @throws ConfigError for a file with problems, before or after the changes; FileError when it cannot be written
 */
export async function editUserFile(context: Context, changes: readonly Change[]): Promise<RewrittenFile> {
  const folder = configFolder(context)
  if (folder === undefined) {
    throw new ConfigError('There is no place for a configuration file, because no home directory is known.', {
      hint: 'Name a folder with MODELGATE_CONFIG_DIR.',
    })
  }
  const path = (await findUserFile(context))?.path ?? userFilePath(context)
  return await rewriteFile(context, path, async (before) => {
    const text = await editedText(path, before ?? newUserFile(path), changes)
    if (before === undefined && text === newUserFile(path)) return undefined
    await checkUserFile(context, path, text)
    return text
  })
}

/** What a file begins with. */
function newUserFile(path: string): string {
  if (path.endsWith('.json')) return '{}\n'
  return '# Settings of modelgate. All there are: modelgate config list --all\n'
}

async function editedText(path: string, before: string, changes: readonly Change[]): Promise<string> {
  const mark = before.startsWith('\uFEFF') ? '\uFEFF' : ''
  const text = before.slice(mark.length)
  // Before it is edited: a file that cannot be read is left alone.
  await parseUserFile(path, path.endsWith('.json') && text.trim() === '' ? '{}' : text)
  if (isJson(path, text)) return mark + editJson(text, changes)
  const hasReturns = text.includes('\r\n') && !/(?<!\r)\n/.test(text)
  let edited = hasReturns ? text.replaceAll('\r\n', '\n') : text
  for (const change of changes) {
    const next = await editYaml(edited, change)
    if (next === undefined) throw notEditable(path, change)
    edited = next
  }
  return mark + (hasReturns ? edited.replaceAll('\n', '\r\n') : edited)
}

/** JSON in a YAML file stays JSON. */
function isJson(path: string, text: string): boolean {
  if (path.endsWith('.json')) return true
  if (!/^\s*\{/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function notEditable(path: string, { path: keys }: Change): ConfigError {
  return new ConfigError(`${path}: ${keys.join('.')} cannot be changed without changing other settings.`, {
    hint: 'The file uses anchors and aliases there: change it in an editor.',
  })
}

/**
 * Whether a text is right as the user's own file, as far as that can be known without the rest of the configuration.
 * @throws ConfigError listing everything that is wrong
 */
async function checkUserFile(context: Context, path: string, text: string): Promise<void> {
  const file = await parseUserFile(path, text.replace(/^\uFEFF/, ''))
  // A file of comments alone has no settings.
  if (file.content === null || file.content === undefined) return
  const problems = createProblemList(20)
  const layer = await userLayer(context, file, problems)
  await problems.check(() => checkBaseUrls(layer))
  problems.throwIfAny()
}

function checkBaseUrls({ settings, profiles }: FileLayer): void {
  const check = (own: Layer, source: string) => {
    const url = own.get('baseUrl')?.value
    const allowHttp = own.get('allowHttp') ?? settings.get('allowHttp')
    if (typeof url === 'string') normaliseBaseUrl(url, source, allowHttp?.value === true)
  }
  check(settings, 'base_url')
  for (const [name, profile] of profiles) check(profile, `profiles.${name}.base_url`)
}
