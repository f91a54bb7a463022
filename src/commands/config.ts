import { Option, type Command, type Argument } from 'commander'
import { describeSettings, keysOf, parseSettingPath, type SettingPath } from '../config/describe-settings.ts'
import { resolveSettings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import type { SettingsDocument, PlacesDocument } from '../events/setting.ts'
import { outputVersion } from '../events/version.ts'
import { settingList } from '../output/setup-report.ts'
import { addShared, type CommonOptions, suggestWords, addExamples } from './shared/options/common-options.ts'
import { homePath, printDocument, printNote, printLine } from './shared/call/print-document.ts'
import { findUserFile, writtenProfiles, findProjectFile, userFilePath } from '../config/find-config-file.ts'
import { settingCalled, settingTable, type Kind } from '../config/setting-table.ts'
import { ConfigError, ModelgateError, UsageError } from '../errors.ts'
import { isObject, objectOf } from '../json.ts'
import { editUserFile, pathToWrite, type Change } from '../config/edit-config.ts'
import { parseYaml } from '../config/parse-config.ts'
import { parseValue } from '../config/layers.ts'
import { existsSync } from 'node:fs'
import { credentialsPath } from '../config/key.ts'
import { configFolder, rescueFolder, stateFolder } from '../context/folders.ts'
import { callsFolder } from '../files/calls/call-book.ts'
import { gap, padded } from '../output/table-cells.ts'
import { configSchema } from '../config/file-schema.ts'

export function registerConfigList(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate config list', 'what is set, and where'],
    ['modelgate config list --all', 'the defaults, too'],
    ['modelgate config list --json | jq -r ".settings[].name"'],
  ])
  command.addOption(new Option('-a, --all', 'include settings at their default'))
  addShared(command, 'json profile messages')
  command.action(async (options: CommonOptions & { readonly all?: true }) => {
    const { json, profile, quiet, all } = options
    const settings = await resolveSettings(context, { profile })
    const described = describeSettings(settings)
    const document: SettingsDocument = {
      version: outputVersion,
      command: 'config list',
      profile: settings.profile.value,
      settings: described.filter(({ level }) => all || json || level !== 'default'),
    }
    const shorten = (text: string) => homePath(context, text)
    await printDocument(context, { json }, document, (styles, columns) =>
      settingList(document.settings, columns, styles, shorten),
    )
    if (document.settings.length === 0 && !quiet)
      printNote(context, 'Nothing is set. All settings: modelgate config list --all')
  })
}

export function registerConfigGet(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate config get text_model', 'the value alone; exit 2 if there is none'],
    ['modelgate config get --json timeout', 'with its source'],
    ['modelgate config get families.my-model'],
  ])
  command.addArgument(settingArgument(command))
  addShared(command, 'json profile messages')
  command.action(async (typed: string, { json, profile }: CommonOptions) => {
    const path = parseSettingPath(typed)
    const settings = await resolveSettings(context, { profile: path.profile ?? profile })
    const { file } = settingTable[path.name]
    const described = describeSettings(settings).find(({ name }) => name === file)!
    const whole = described.hidden ? settings[path.name].value : described.value
    const value = path.inner.length > 0 ? await writtenValue(context, path) : whole
    if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) {
      throw new ConfigError(`${typed} is not set.`, { hint: `Set it: modelgate config set ${typed} VALUE` })
    }
    const document: SettingsDocument = {
      version: outputVersion,
      command: 'config get',
      profile: settings.profile.value,
      settings: [
        { ...described, name: keysOf({ ...path, profile: undefined }).join('.'), value, hidden: false },
      ],
    }
    await printDocument(context, { json }, document, () => `${lines(value)}\n`)
  })
}

async function writtenValue(context: Context, path: SettingPath): Promise<unknown> {
  let value = (await findUserFile(context))?.content
  for (const key of keysOf(path)) value = isObject(value) ? value[key] : undefined
  return value
}

function lines(value: unknown): string {
  if (Array.isArray(value)) return value.join('\n')
  return typeof value === 'object' ? JSON.stringify(value, undefined, 2) : String(value as string)
}

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
  command.action(
    async (name: string, first: string, more: readonly string[], { profile, quiet }: CommonOptions) => {
      const words = [name, first, ...more]
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
    },
  )
}

export function registerConfigUnset(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate config unset timeout'],
    ['modelgate config unset --profile work text_model'],
    ['modelgate config unset families.my-model'],
  ])
  command.addArgument(settingArgument(command))
  addShared(command, 'profile messages')
  command.action(async (name: string, { profile, quiet }: CommonOptions) => {
    const other = await otherKeys(context, name)
    const path = other === undefined ? await inProfile(context, parseSettingPath(name), profile) : undefined
    const keys = other ?? keysOf(path!)
    const { path: file, changed } = await editUserFile(context, [{ path: keys, value: undefined }])
    if (quiet) return
    const what = `${changed ? 'is removed from' : 'was not set in'} ${homePath(context, file)}`
    if (path === undefined) printNote(context, `${keys.join('.')} ${what}.`)
    else await report(context, path, what)
  })
}

/** The keys to what can be removed beside settings: a profile, and what is in the file without being a setting. */
async function otherKeys(context: Context, name: string): Promise<string[] | undefined> {
  const keys = name.startsWith('profiles.') ? ['profiles', name.slice('profiles.'.length)] : [name]
  const owner =
    keys.length === 1 ? objectOf((await findUserFile(context))?.content) : await writtenProfiles(context)
  const isThere = Object.hasOwn(owner, keys.at(-1)!)
  return isThere && !settingCalled.has(name) ? keys : undefined
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
    if (/^\s*[{[]/.test(text)) return await parseYaml('the value', text)
    return /^\d+(\.\d+)?$/.test(text) ? Number(text) : text
  }
  const { locate, fromText } = settingTable[name].kind as Kind<string>
  if (text.trim() === '' || locate === undefined) return fromText?.(text) ?? text
  return locate(text, (path) => pathToWrite(context, path))
}

async function report(context: Context, path: SettingPath, what: string): Promise<void> {
  const { name, profile, inner } = path
  printNote(context, `${keysOf(path).join('.')} ${what}.`)
  // A mapping is joined from all its sources, so nothing hides a part of it but the same part.
  if (inner.length > 0) return
  try {
    const { level, source } = (await resolveSettings(context, { profile }))[name]
    if (level === 'default') return
    const isOwn = level === 'user' && (profile !== undefined || !source.includes(', profile '))
    if (!isOwn) printNote(context, `warning: ${source} takes precedence over it.`)
    else if (what.startsWith('is removed')) printNote(context, `It is still set: ${source}.`)
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    printNote(context, `warning: ${error.message}`)
  }
}

const placeNames = ['user', 'project', 'credentials', 'state', 'log', 'rescued'] as const

export function registerConfigPath(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate config path', 'all places'],
    ['cat "$(modelgate config path user)"', 'one of them'],
  ])
  const name = command.createArgument('[name]', 'print only the path of this place').choices(placeNames)
  command.addArgument(name)
  addShared(command, 'json messages')
  command.action(async (chosen: string | undefined, { json }: CommonOptions) => {
    const all = await places(context)
    if (chosen !== undefined) {
      if (json) throw new UsageError('--json prints all places: leave the name out.')
      const path = all.find(({ name }) => name === chosen)?.path ?? null
      if (path !== null) return await printLine(context, path)
      if (chosen === 'project') {
        throw new ConfigError('There is no project file here.', {
          hint: 'It is looked for from the working directory up to the repository root: .modelgaterc.yaml, for example.',
        })
      }
      throw new ConfigError(`There is no place for ${chosen}.`, {
        hint: 'No home directory is known: set HOME, MODELGATE_CONFIG_DIR or MODELGATE_STATE_DIR.',
      })
    }
    const document: PlacesDocument = { version: outputVersion, command: 'config path', places: all }
    await printDocument(context, { json }, document, (styles, columns) =>
      all
        .map(({ name, path, exists }) => {
          if (columns === undefined) return `${name}\t${path ?? ''}\t${exists ? 'exists' : 'missing'}\n`
          const shown = path === null ? 'none' : homePath(context, path)
          const line = `${padded(name, 11)}${gap}${shown}`
          return exists ? `${line}\n` : `${styles.dim(`${line}${path === null ? '' : ' (not there)'}`)}\n`
        })
        .join(''),
    )
  })
}

async function places(context: Context): Promise<PlacesDocument['places']> {
  const state = stateFolder(context)
  const paths: Readonly<Record<(typeof placeNames)[number], string | undefined>> = {
    user: configFolder(context) === undefined ? undefined : userFilePath(context),
    project: (await findProjectFile(context))?.path,
    credentials: credentialsPath(context),
    state,
    log: state === undefined ? undefined : callsFolder(state),
    rescued: rescueFolder(context),
  }
  return placeNames.map((name) => {
    const path = paths[name] ?? null
    return { name, path, exists: path !== null && existsSync(path) }
  })
}

export function registerConfigSchema(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate config schema > modelgate.schema.json', 'for an editor'],
    ['modelgate config schema --project'],
  ])
  command.addOption(new Option('--project', 'of a project file, which has fewer settings'))
  addShared(command, 'messages')
  command.action(async ({ project }: { readonly project?: true }) => {
    const schema = await configSchema(project ? 'project' : 'user')
    await printLine(context, JSON.stringify(schema, undefined, 2))
  })
}

function settingArgument(command: Command): Argument {
  const name = command.createArgument('<name>', 'a setting, as in the file: base_url')
  return suggestWords(name, [...settingCalled.keys()])
}
