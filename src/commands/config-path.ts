import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { findProjectFile, userFilePath } from '../config/find-config-file.ts'
import { credentialsPath } from '../config/key.ts'
import { configFolder, rescueFolder, stateFolder } from '../config/paths.ts'
import type { Context } from '../context.ts'
import { ConfigError, UsageError } from '../errors.ts'
import { outputVersion } from '../events/version.ts'
import type { PlacesDocument } from '../events/setting.ts'
import { callsFolder } from '../files/calls/call-book.ts'
import { gap, padded } from '../output/table-cells.ts'
import { addShared, type CommonOptions } from './shared/options/common-options.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { homePath, printDocument, printLine } from './shared/call/print-document.ts'

/** The names that the argument takes. */
const placeNames = ['user', 'project', 'credentials', 'state', 'log', 'rescued'] as const

/** `modelgate config path`: where files are. */
export function registerConfigPath(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate config path', 'all places'],
    ['cat "$(modelgate config path user)"', 'one of them'],
  ])
  const name = command.createArgument('[name]', 'print only the path of this place').choices(placeNames)
  command.addArgument(name)
  addShared(command, 'json messages')
  command.action(async (chosen: string | undefined, _: unknown, self: Command) =>
    showPlaces(context, self.optsWithGlobals<CommonOptions>(), chosen),
  )
}

/** @throws ConfigError `config_invalid` for a place that there is not */
async function showPlaces(
  context: Context,
  { json }: CommonOptions,
  chosen: string | undefined,
): Promise<void> {
  const all = await places(context)
  if (chosen !== undefined) {
    if (json) throw new UsageError('--json prints all places: leave the name out.')
    const path = all.find(({ name }) => name === chosen)?.path ?? null
    if (path === null) throw noPlace(chosen)
    return await printLine(context, path)
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
}

/** Every place that is read or written, whether it is there or not. */
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

function noPlace(name: string): ConfigError {
  return new ConfigError(
    name === 'project' ? 'There is no project file here.' : `There is no place for ${name}.`,
    {
      hint:
        name === 'project'
          ? 'It is looked for from the working directory up to the repository root: .modelgaterc.yaml, for example.'
          : 'No home directory is known: set HOME, MODELGATE_CONFIG_DIR or MODELGATE_STATE_DIR.',
    },
  )
}
