import type { Command } from 'commander'
import { describeSettings, keysOf, parseSettingPath, type SettingPath } from '../config/describe-settings.ts'
import { editUserFile, type Change } from '../config/edit-config.ts'
import { findUserFile, writtenProfiles } from '../config/find-config-file.ts'
import { parseYaml } from '../config/parse-config.ts'
import { parseValue, type Kind } from '../config/setting-kinds.ts'
import { settingTable } from '../config/setting-table.ts'
import { resolveSettings } from '../config/settings.ts'
import { pathToWrite } from '../config/layers.ts'
import type { Context } from '../context.ts'
import { ModelgateError, UsageError } from '../errors.ts'
import { objectOf } from '../json.ts'
import { addShared, type CommonOptions } from './shared/options/common-options.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { settingArgument } from './shared/options/setting-argument.ts'
import { homePath, tell } from './shared/call/print-document.ts'

/** `modelgate config set`: changes one setting in the user's own file. */
export function registerConfigSet(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate config set base_url https://gateway.example'],
    ['modelgate config set --profile work text_model gpt-5'],
    ['modelgate config set trusted_origins "https://a.example https://b.example"'],
    ['modelgate config set families.my-model image-model-a', 'a part of a mapping'],
    ['modelgate config set prices.gpt-5.input 1.25 prices.gpt-5.output 10', 'several at once'],
  ])
  command
    .addArgument(settingArgument(command))
    .argument(
      '<value>',
      'a word, a number, true or false; lists with commas or spaces; mappings as YAML or JSON',
    )
    .argument('[more...]', 'more names and values')
  addShared(command, 'profile messages')
  command.action(async (name: string, value: string, more: readonly string[], _: unknown, self: Command) =>
    setAll(context, self.optsWithGlobals<CommonOptions>(), [name, value, ...more]),
  )
}

/** @param words names and values by turns */
async function setAll(
  context: Context,
  { profile, quiet }: CommonOptions,
  words: readonly string[],
): Promise<void> {
  if (words.length % 2 !== 0) {
    throw new UsageError(`${words.at(-1)} has no value: give NAME and VALUE in pairs.`)
  }
  const paths: SettingPath[] = []
  const changes: Change[] = []
  for (let at = 0; at < words.length; at += 2) {
    const path = await inProfile(context, parseSettingPath(words[at]!), profile)
    paths.push(path)
    changes.push({ path: keysOf(path), value: await checkedValue(context, path, words[at + 1]!) })
  }
  const { path: file } = await editUserFile(context, changes)
  if (quiet) return
  for (const path of paths) await report(context, path, `is set in ${homePath(context, file)}`)
}

const unsetExamples: readonly Example[] = [
  ['modelgate config unset timeout'],
  ['modelgate config unset --profile work text_model'],
  ['modelgate config unset families.my-model'],
]

/** `modelgate config unset`: removes one setting from the user's own file. */
export function registerConfigUnset(command: Command, context: Context): void {
  addExamples(command, unsetExamples)
  command.addArgument(settingArgument(command))
  addShared(command, 'profile messages')
  command.action(async (name: string, _: unknown, self: Command) => {
    const { profile, quiet } = self.optsWithGlobals<CommonOptions>()
    const other = await otherKeys(context, name)
    const path = other === undefined ? await inProfile(context, parseSettingPath(name), profile) : undefined
    const keys = other ?? keysOf(path!)
    const { path: file, changed } = await editUserFile(context, [{ path: keys, value: undefined }])
    if (quiet) return
    const what = `${changed ? 'is removed from' : 'was not set in'} ${homePath(context, file)}`
    if (path === undefined) tell(context, `${keys.join('.')} ${what}.`)
    else await report(context, path, what)
  })
}

/** The keys to what can be removed beside settings: a profile, and what is in the file without being a setting. */
async function otherKeys(context: Context, name: string): Promise<string[] | undefined> {
  const keys = name.startsWith('profiles.') ? ['profiles', name.slice('profiles.'.length)] : [name]
  const owner =
    keys.length === 1 ? objectOf((await findUserFile(context))?.content) : await writtenProfiles(context)
  const isThere = Object.hasOwn(owner, keys.at(-1)!)
  const isSetting = Object.values(settingTable).some(({ file }) => file === name)
  return isThere && !isSetting ? keys : undefined
}

/** The settings of the profile `default` are those at the top of the file, unless it is written out there. */
async function inProfile(
  context: Context,
  path: SettingPath,
  profile: string | undefined,
): Promise<SettingPath> {
  if (profile === undefined || path.profile !== undefined) return path
  if (profile !== settingTable.profile.default) return { ...path, profile }
  return Object.hasOwn(await writtenProfiles(context), profile) ? { ...path, profile } : path
}

/** @throws UsageError for a value that the setting cannot have */
async function checkedValue(context: Context, path: SettingPath, text: string): Promise<unknown> {
  const value = await valueOf(context, path, text)
  // A part of a mapping is checked with the whole.
  if (path.inner.length > 0) return value
  const { kind, file } = settingTable[path.name]
  const result = await parseValue(kind as Kind<unknown>, value)
  if ('wrong' in result) {
    const problems = result.wrong.map(({ keys, problem }) => `${[file, ...keys].join('.')} ${problem}.`)
    throw new UsageError(problems, { code: 'config_invalid' })
  }
  return value
}

/** As the file has it. A path is meant from here, but a file's are read from its folder. */
async function valueOf(context: Context, { name, inner }: SettingPath, text: string): Promise<unknown> {
  const { onlyInFiles, isMapping } = settingTable[name]
  if (inner.length > 0 || onlyInFiles || isMapping) {
    // Braces and numbers are YAML; any other text is a name.
    return /^\s*[{[]/.test(text) ? await parseYaml('the value', text) : numberOrText(text)
  }
  const { locate, fromText } = settingTable[name].kind as Kind<string>
  if (text.trim() === '' || locate === undefined) return fromText?.(text) ?? text
  return locate(text, (path) => pathToWrite(context, path))
}

/** Says what was done, and what hides it. */
async function report(context: Context, path: SettingPath, what: string): Promise<void> {
  const own = keysOf(path).join('.')
  tell(context, `${own} ${what}.`)
  // A mapping is joined from all its sources, so nothing hides a part of it but the same part.
  if (path.inner.length > 0) return
  const setting = await inUse(context, path)
  if (setting === undefined || setting.level === 'default') return
  const isOwn =
    setting.level === 'user' && (path.profile !== undefined || !setting.source.includes(', profile '))
  if (!isOwn) tell(context, `warning: ${setting.source} takes precedence over it.`)
  else if (what.startsWith('is removed')) tell(context, `It is still set: ${setting.source}.`)
}

/** The setting as a call would use it now; undefined if the rest of the configuration has problems. */
async function inUse(context: Context, { name, profile }: SettingPath) {
  try {
    const settings = await resolveSettings(context, { profile })
    const all = await describeSettings(context, settings)
    return all.find((setting) => setting.name === settingTable[name].file)
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    tell(context, `warning: ${error.message}`)
    return undefined
  }
}

function numberOrText(text: string): number | string {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : text
}
