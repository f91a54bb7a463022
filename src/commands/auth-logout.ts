import { Option, type Command } from 'commander'
import { removeKey, storedProfiles } from '../config/credentials.ts'
import type { Context } from '../context.ts'
import { ModelgateError, UsageError } from '../errors.ts'
import { ownSettings } from './shared/options/own-settings.ts'
import { addShared, type CommonOptions } from './shared/options/common-options.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { homePath, tell } from './shared/call/print-document.ts'

interface LogoutOptions extends CommonOptions {
  readonly all?: true
}

/** `modelgate auth logout`: removes what `auth login` has stored, and nothing else. */
export function registerAuthLogout(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate auth logout'],
    ['modelgate auth logout --profile work'],
    ['modelgate auth logout --all', 'every stored key'],
  ])
  command.addOption(new Option('--all', 'of every profile'))
  addShared(command, 'profile messages', { profile: 'profile whose key is removed (default)' })
  command.action(async (_: unknown, self: Command) => logOut(context, self.optsWithGlobals<LogoutOptions>()))
}

/** @throws ConfigError, FileError */
async function logOut(context: Context, options: LogoutOptions): Promise<void> {
  if (options.all && options.profile !== undefined) {
    throw new UsageError('--all means every profile: leave out --all or --profile.')
  }
  const settings = await ownSettings(context, options)
  const profiles = options.all ? storedProfiles(context) : [settings.profile.value]
  let removed = 0
  for (const profile of profiles) {
    const { path, changed } = await removeKey(context, profile)
    if (changed) removed++
    if (settings.quiet.value) continue
    const place = homePath(context, path)
    tell(
      context,
      changed
        ? `The key of profile ${profile} is removed from ${place}.`
        : `No key of profile ${profile} is stored in ${place}.`,
    )
  }
  if (settings.quiet.value) return
  if (options.all && removed === 0) tell(context, 'No key is stored.')
  await tellRest(context, settings)
}

/** What still supplies a key is not ours to remove. */
async function tellRest(context: Context, settings: Awaited<ReturnType<typeof ownSettings>>): Promise<void> {
  try {
    const rest = await settings.keyLocation()
    if (rest === undefined || rest.kind === 'credentials') return
    tell(context, `warning: ${rest.source} still supplies a key.`)
  } catch (error) {
    // A file that cannot be used supplies none.
    if (!(error instanceof ModelgateError)) throw error
  }
}
