import { Option, type Command, type Argument } from 'commander'
import { resolveSettings, type Settings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import type { SettingEntry, SettingsDocument, PlacesDocument } from '../events/setting.ts'
import { outputVersion } from '../events/version.ts'
import { settingList } from '../output/setup-report.ts'
import { addShared, type CommonOptions, suggestWords, addExamples } from './shared/options/common-options.ts'
import { homePath, printDocument, printNote, printLine } from './shared/call/print-document.ts'
import {
  findUserFile,
  writtenProfiles,
  findProjectFile,
  profileSection,
  userFilePath,
} from '../config/config-file.ts'
import { parseYaml, quoted } from '../config/parse-config.ts'
import {
  flagName,
  settingCalled,
  settingNames,
  settingTable,
  type SettingName,
} from '../config/setting-table.ts'
import { ConfigError, ModelgateError, UsageError } from '../errors.ts'
import { objectOf } from '../json.ts'
import { editUserFile, pathToWrite, type Change } from '../config/edit-config.ts'
import { lineOf, parseValue, type Setting } from '../config/layers.ts'
import { priceNames } from '../config/model-prices.ts'
import { nearestName } from '../nearest-name.ts'
import { existsSync } from 'node:fs'
import { credentialsPath } from '../config/key.ts'
import { configFolder, rescueFolder, stateFolder } from '../context/folders.ts'
import { callsFolder } from '../files/calls/call-book.ts'
import { gap, linesText, padded } from '../output/table-cells.ts'
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
    const { json, profile, quiet, all: withDefaults } = options
    const settings = await resolveSettings(context, { profile })
    const all = settingNames.map((name) => describeSetting(settings, name))
    const document: SettingsDocument = {
      version: outputVersion,
      command: 'config list',
      profile: settings.profile.value,
      settings: all.filter(({ level }) => withDefaults || json || level !== 'default'),
    }
    const shorten = (text: string) => homePath(context, text)
    await printDocument(context, { json }, document, (styles, columns) =>
      settingList(document.settings, columns, styles, shorten),
    )
    if (document.settings.length === 0 && !quiet)
      printNote(context, 'Nothing is set. All settings: modelgate config list --all')
  })
}

/** A setting with its value and where that comes from, as `config list` shows it. */
function describeSetting(settings: Settings, name: SettingName): SettingEntry {
  const { file, env, flag, about, isSecret } = settingTable[name]
  const { level, source, place } = settings[name]
  const hidden = isSecret === true && level !== 'default'
  return {
    name: file,
    value: hidden ? null : shownValue(settings, name),
    hidden,
    level,
    source,
    file: place?.file.path ?? null,
    line: (place && lineOf(place)) ?? null,
    env: env ?? null,
    flag: flag === undefined ? null : flagName(flag),
    about,
  }
}

function shownValue(settings: Settings, name: SettingName): unknown {
  const { value, written }: Setting<unknown> = settings[name]
  // What a mapping is converted to says less.
  if (settingTable[name].onlyInFiles) return written ?? null
  return value instanceof URL ? value.href.replace(/\/$/, '') : (value ?? null)
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
    const { name, inner, section } = parseSettingPath(typed)
    const settings = await resolveSettings(context, { profile: section[1] ?? profile })
    const written: unknown = settings[name].written
    const value =
      inner.length === 0 ? shownValue(settings, name) : inner.reduce((at, key) => objectOf(at)[key], written)
    if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) {
      throw new ConfigError(`${typed} is not set.`, { hint: `Set it: modelgate config set ${typed} VALUE` })
    }
    const document: SettingsDocument = {
      version: outputVersion,
      command: 'config get',
      profile: settings.profile.value,
      settings: [
        {
          ...describeSetting(settings, name),
          name: [settingTable[name].file, ...inner].join('.'),
          value,
          hidden: false,
        },
      ],
    }
    await printDocument(context, { json }, document, () => `${lines(value)}\n`)
  })
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
      const changes: (SettingPath & Change)[] = []
      for (let at = 0; at < words.length; at += 2) {
        const setting = await inProfile(context, words[at]!, profile)
        changes.push({ ...setting, value: await valueToWrite(context, setting, words[at + 1]!) })
      }
      const { path: file } = await editUserFile(context, changes)
      if (quiet) return
      for (const change of changes) await report(context, change, `is set in ${homePath(context, file)}`)
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
    const setting = other === undefined ? await inProfile(context, name, profile) : { path: other }
    const { path } = setting
    const { path: file, changed } = await editUserFile(context, [{ path, value: undefined }])
    if (quiet) return
    const what = `${changed ? 'is removed from' : 'was not set in'} ${homePath(context, file)}`
    if ('name' in setting) await report(context, setting, what)
    else printNote(context, `${path.join('.')} ${what}.`)
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

async function inProfile(context: Context, typed: string, profile?: string): Promise<SettingPath> {
  const setting = parseSettingPath(typed)
  if (profile === undefined || setting.section.length > 0) return setting
  const section = await profileSection(context, profile)
  return { ...setting, section, path: [...section, ...setting.path] }
}

/** As the file is to have it. A path is meant from here, but a file's are read from its folder. @throws UsageError */
async function valueToWrite(context: Context, { name, inner }: SettingPath, text: string): Promise<unknown> {
  const { kind, file, isMapping } = settingTable[name]
  let value: unknown = kind.fromText?.(text) ?? text
  if (inner.length > 0 || isMapping) {
    // Braces and numbers are YAML; any other text is a name.
    const isNumber = /^\d+(\.\d+)?$/.test(text)
    value = /^\s*[{[]/.test(text) ? await parseYaml('the value', text) : isNumber ? Number(text) : text
  } else if (text.trim() !== '' && kind.locate !== undefined) {
    value = kind.locate(text, (path) => pathToWrite(context, path))
  }
  // A part of a mapping is checked with the whole.
  if (inner.length > 0) return value
  const result = await parseValue(kind, value)
  if (!('wrong' in result)) return value
  throw invalidSetting(result.wrong.map(({ keys, problem }) => `${[file, ...keys].join('.')} ${problem}.`))
}

async function report(
  context: Context,
  { name, section, inner, path }: SettingPath,
  what: string,
): Promise<void> {
  printNote(context, `${path.join('.')} ${what}.`)
  // A mapping is joined from all its sources, so nothing hides a part of it but the same part.
  if (inner.length > 0) return
  try {
    const { level, source, place } = (await resolveSettings(context, { profile: section[1] }))[name]
    if (level === 'default') return
    const isOwn = level === 'user' && (section.length > 0 || place?.keys[0] !== 'profiles')
    if (!isOwn) printNote(context, `warning: ${source} takes precedence over it.`)
    else if (what.startsWith('is removed')) printNote(context, `It is still set: ${source}.`)
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    printNote(context, `warning: ${error.message}`)
  }
}

const places = {
  user: (context: Context) => configFolder(context) && userFilePath(context),
  project: async (context: Context) => (await findProjectFile(context))?.path,
  credentials: credentialsPath,
  state: stateFolder,
  log(context: Context) {
    const state = stateFolder(context)
    return state && callsFolder(state)
  },
  rescued: rescueFolder,
}

export function registerConfigPath(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate config path', 'all places'],
    ['cat "$(modelgate config path user)"', 'one of them'],
  ])
  const name = command
    .createArgument('[name]', 'print only the path of this place')
    .choices(Object.keys(places))
  command.addArgument(name)
  addShared(command, 'json messages')
  command.action(async (chosen: string | undefined, { json }: CommonOptions) => {
    const all: PlacesDocument['places'][number][] = []
    for (const [name, find] of Object.entries(places)) {
      const path = (await find(context)) ?? null
      all.push({ name, path, exists: path !== null && existsSync(path) })
    }
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
    await printDocument(context, { json }, document, (styles, columns) => {
      const lines = all.map(({ name, path, exists }) => {
        if (columns === undefined) return `${name}\t${path ?? ''}\t${exists ? 'exists' : 'missing'}`
        const shown = path === null ? 'none' : `${homePath(context, path)}${exists ? '' : ' (not there)'}`
        return styles[exists ? 'plain' : 'dim'](`${padded(name, 11)}${gap}${shown}`)
      })
      return linesText(lines)
    })
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

interface SettingPath {
  readonly name: SettingName
  /** The keys inside a setting that is a mapping: `['my-model']` of `families.my-model`, `['gpt-4.1', 'input']` of a price. */
  readonly inner: readonly string[]
  /** `['profiles', 'work']` of `profiles.work.timeout`; empty at the top. */
  readonly section: readonly string[]
  /** All the keys that lead to it in the file. */
  readonly path: readonly string[]
}

/** Reads `base_url`, also with dashes, `families.my-model`, `profiles.work.base_url`. @throws UsageError, with the nearest */
function parseSettingPath(typed: string): SettingPath {
  const [, profile, own = typed] = /^profiles\.(.+)\.([^.]+)$/.exec(typed) ?? []
  const [first = '', ...rest] = own.split('.')
  const file = first.replaceAll('-', '_').toLowerCase()
  const name = settingCalled.get(file)
  if (name === undefined) throw invalidSetting(`${quoted(first)} is not a setting.`, hintFor(first))
  if (rest.length > 0 && !settingTable[name].isMapping) {
    throw invalidSetting(`${file} has no parts: ${quoted(own)} is not a setting.`)
  }
  if (name === 'profile' && profile !== undefined) throw invalidSetting('profile cannot be set in a profile.')
  const section = profile === undefined ? [] : ['profiles', profile]
  const inner = innerKeys(name, rest)
  return { name, inner, section, path: [...section, file, ...inner] }
}

function hintFor(typed: string): string {
  if (/^api[-_]?key$/i.test(typed)) {
    return 'Keys do not belong in configuration files: store it with modelgate auth login.'
  }
  const nearest = nearestName(typed, [...settingCalled.keys()])
  return nearest === undefined
    ? 'See: modelgate config list --all'
    : `Did you mean ${nearest}? All settings: modelgate config list --all`
}

/** A model id may contain dots; it ends where the name of a price begins. */
function innerKeys(name: SettingName, rest: readonly string[]): readonly string[] {
  if (rest.length === 0) return []
  const at = name === 'prices' ? rest.findIndex((word, index) => index > 0 && priceNames.includes(word)) : -1
  return at === -1 ? [rest.join('.')] : [rest.slice(0, at).join('.'), ...rest.slice(at)]
}

const invalidSetting = (problem: string | readonly string[], hint?: string) =>
  new UsageError(problem, { code: 'config_invalid', hint })

function settingArgument(command: Command): Argument {
  const name = command.createArgument('<name>', 'a setting, as in the file: base_url')
  return suggestWords(name, [...settingCalled.keys()])
}
