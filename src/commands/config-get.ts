import type { Command } from 'commander'
import { describeSettings, keysOf, parseSettingPath } from '../config/describe-settings.ts'
import { findUserFile } from '../config/find-config-file.ts'
import { settingTable } from '../config/setting-table.ts'
import { resolveSettings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { ConfigError } from '../errors.ts'
import { outputVersion } from '../events/version.ts'
import type { SettingsDocument } from '../events/setting.ts'
import { isObject } from '../json.ts'
import { addShared, type CommonOptions } from './shared/options/common-options.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { settingArgument } from './shared/options/setting-argument.ts'
import { printDocument } from './shared/call/print-document.ts'

/** `modelgate config get`: the value of one setting, as a call would use it. */
export function registerConfigGet(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate config get text_model', 'the value alone; exit 2 if there is none'],
    ['modelgate config get --json timeout', 'with its source'],
    ['modelgate config get families.my-model'],
  ])
  command.addArgument(settingArgument(command))
  addShared(command, 'json profile messages')
  command.action(async (name: string, _: unknown, self: Command) =>
    getSetting(context, self.optsWithGlobals<CommonOptions>(), name),
  )
}

/** @throws UsageError for an unknown setting, ConfigError `config_invalid` */
async function getSetting(context: Context, { json, profile }: CommonOptions, typed: string): Promise<void> {
  const path = parseSettingPath(typed)
  const settings = await resolveSettings(context, { profile: path.profile ?? profile })
  const row = settingTable[path.name]
  const described = (await describeSettings(context, settings)).find(({ name }) => name === row.file)!
  const isFromFile = path.inner.length > 0
  const value = isFromFile
    ? await writtenValue(context, path)
    : described.hidden
      ? settings[path.name].value
      : described.value
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) {
    throw new ConfigError(`${typed} is not set.`, {
      hint: `Set it: modelgate config set ${typed} VALUE`,
    })
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
}

/** A part of a mapping as it is written in the user's own file. */
async function writtenValue(context: Context, path: ReturnType<typeof parseSettingPath>): Promise<unknown> {
  let value = (await findUserFile(context))?.content
  for (const key of keysOf(path)) value = isObject(value) ? value[key] : undefined
  return value
}

/** A list one item a line, a mapping as JSON. */
function lines(value: unknown): string {
  if (Array.isArray(value)) return value.join('\n')
  return typeof value === 'object' ? JSON.stringify(value, undefined, 2) : String(value as string)
}
