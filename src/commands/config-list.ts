import { Option, type Command } from 'commander'
import { describeSettings } from '../config/describe-settings.ts'
import { resolveSettings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import type { SettingsDocument } from '../events/setting.ts'
import { outputVersion } from '../events/version.ts'
import { settingList } from '../output/setting-list.ts'
import { addShared, type CommonOptions } from './shared/options/common-options.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { homePath, printDocument, tell } from './shared/call/print-document.ts'

/** `modelgate config list`: the settings in use, each with its source. */
export function registerConfigList(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate config list', 'what is set, and where'],
    ['modelgate config list --all', 'the defaults, too'],
    ['modelgate config list --json | jq -r ".settings[].name"'],
  ])
  command.addOption(new Option('-a, --all', 'include settings at their default'))
  addShared(command, 'json profile messages')
  command.action(async (_: unknown, self: Command) =>
    listSettings(context, self.optsWithGlobals<CommonOptions & { readonly all?: true }>()),
  )
}

/** @throws ConfigError for a configuration with problems */
async function listSettings(
  context: Context,
  { json, profile, quiet, all }: CommonOptions & { readonly all?: true },
): Promise<void> {
  const settings = await resolveSettings(context, { profile })
  const described = await describeSettings(context, settings)
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
    tell(context, 'Nothing is set. All settings: modelgate config list --all')
}
