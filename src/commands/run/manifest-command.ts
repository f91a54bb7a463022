import { rescueFolder } from '../../config/paths.ts'
import { Option, type Command } from 'commander'
import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { Redactor } from '../../operations/operation.ts'
import type { ManifestCall } from '../../pipeline/run/project.ts'
import { addShared, type CommonOptions } from '../shared/options/common-options.ts'
import { isCiSet } from '../shared/input/questions.ts'

export interface ManifestOptions extends CommonOptions {
  file?: string
}

export const fileOption = (
  about = 'the manifest (default: modelgate.yaml in this folder, or in the nearest one above)',
) => new Option('-f, --file <file>', about)

/**
 * Makes a command work on a manifest, as one below `run`.
 * @param more shared options that it has besides those of every such command, and what they mean for it
 */
export function takeManifest(
  command: Command,
  more = '',
  meanings: Readonly<Record<string, string>> = {},
): void {
  command.addOption(fileOption())
  addShared(command, `json sandbox profile messages ${more}`.trimEnd(), meanings)
}

/** A number in a list. @param what it is the number of, for the message @throws UsageError */
export function readNumber(text: string, what: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new UsageError(
    `The number of the ${what} must be a whole number from 1, not ${JSON.stringify(text.slice(0, 40))}.`,
  )
}

export function manifestCall(
  context: Context,
  { file, sandbox }: ManifestOptions,
  { families }: Pick<Settings, 'families'>,
  redactor: Redactor,
): ManifestCall {
  const { env, program } = context
  const same = [...(file === undefined ? [] : ['-f', file]), ...(sandbox ? ['--sandbox'] : [])]
  return {
    context,
    env,
    families: families.value,
    redactor,
    file,
    isSandbox: sandbox === true,
    next: (...words) => [program, 'run', ...words, ...same],
    rescueFolder: rescueFolder(context),
    generating: isCiSet(env) ? ['--generate'] : [],
  }
}
