import { rescueFolder } from '../../config/paths.ts'
import { Option, type Command } from 'commander'
import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { Redactor } from '../../operations/operation.ts'
import type { ManifestCall } from '../../pipeline/run/project.ts'
import { takeOptions, type CommonOptions } from '../shared/options/common-options.ts'
import { isCiSet } from '../shared/input/questions.ts'

export interface ManifestOptions extends CommonOptions {
  file?: string
}

/** Which manifest a command works on. */
export const fileOption = (
  about = 'the manifest (default: modelgate.yaml in this folder, or in the nearest one above)',
) => new Option('-f, --file <file>', about)

/**
 * Makes a command work on a manifest, as one below `run`.
 * @param taken the common options that apply to it, besides those of every such command
 */
export function takeManifest(command: Command, taken: readonly string[] = []): void {
  command.addOption(fileOption())
  takeOptions(command, new Set(['json', 'sandbox', 'profile', ...taken]))
  command.hook('preAction', () => refuseOptionsOfRun(command))
}

/** The parser takes the options of `run` anywhere behind it. @throws UsageError for those that mean nothing here */
export function refuseOptionsOfRun(command: Command): void {
  const { parent } = command
  const own = new Set(command.options.map((option) => option.attributeName()))
  const given = parent!.options.filter((option) => {
    const name = option.attributeName()
    return parent!.getOptionValueSource(name) === 'cli' && !own.has(name)
  })
  if (given.length === 0) return
  const name = `${parent!.name()} ${command.name()}`
  throw new UsageError(
    given.map(({ long }) => `${long} does not apply to ${name}.`),
    { code: 'unknown_option', hint: `See modelgate ${name} --help.` },
  )
}

/** A number in a list. @param what it is the number of, for the message @throws UsageError */
export function readNumber(text: string, what: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new UsageError(
    `The number of the ${what} must be a whole number from 1, not ${JSON.stringify(text.slice(0, 40))}.`,
  )
}

/** What the work on a manifest gets from the command line. */
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
