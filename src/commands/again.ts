import type { Command, Option } from 'commander'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import {
  freeOutput,
  repeatable,
  repeatedBody,
  repeatedSources,
  type RepeatableCall,
} from '../operations/repeat-call.ts'
import { findCall } from '../operations/read-log.ts'
import { withPrompt } from '../operations/request-prompt.ts'
import { roundedDuration } from '../quantities.ts'
import { ownLog } from './log.ts'
import type { CommandTools, LoadCommand } from './shared/options/command-tools.ts'
import { say } from './shared/text/conversation.ts'
import { originOf, rememberOrigin, type CommonOptions } from './shared/options/common-options.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { readTextPrompt } from './shared/request/text-prompt.ts'

interface AgainOptions extends Omit<CommonOptions, 'sandbox'> {
  sandbox?: boolean
}

const againExamples: readonly Example[] = [
  ['modelgate again', 'the last call once more'],
  ['modelgate again 3 --size 1024x1536 -o b.png'],
  ['modelgate again -m OTHER', 'the same of another model'],
  ['modelgate again "A red boat"', 'with another prompt'],
  ['modelgate again 2 --dry-run --curl', 'see what would be sent'],
]

/** `modelgate again`: the recorded request of a call, changed by any flag of its command. */
export function registerAgain(command: Command, context: Context, tools: CommandTools): void {
  addExamples(command, againExamples)
  command
    .argument('[number]', 'number of the call in the log, 1 being the newest, or its id (1)')
    .argument('[prompt...]', 'another prompt; "-" reads standard input, @file a file')
    .usage('[number] [prompt...] [any option of the repeated command]')
    .option('--no-sandbox', 'send a call of the sandbox to the gateway')
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (_: unknown, __: unknown, ___: unknown, self: Command) => again(context, self, tools))
}

/** @throws UsageError, FileError before anything is sent; whatever the repeated command throws */
async function again(context: Context, self: Command, { run, load }: CommandTools): Promise<void> {
  const options = self.optsWithGlobals<AgainOptions>()
  const program = self.parent!
  const [first, ...others] = self.args
  const isNamed = first !== undefined && /^(?:\d+|log_[0-9a-f]+)$/.test(first)
  const call = repeatable(findCall(ownLog(context), isNamed ? first : '1'))
  const commandWords = wordsOf(program, call.repeat)
  const target = await targetOf(program, commandWords, load)
  const { flags, words } = split(target, isNamed ? others : self.args)
  if (!isNamed) refuseLateNumber(words)
  announce(context, options, call)
  const given = [...commonFlags(program), ...flags]
  const request = await requestWith(context, options, call, words)
  const body = await repeatedBody(context, { request }, flags)
  const sources = await repeatedSources(context, call, flags)
  // What it says of a file holds only for a call that can be repeated.
  const recorded = recordedFlags(context, options, call, commandWords.length, given)
  rememberOrigin(context, { words: originOf(context).words, repeats: call.entry.id })
  await run([...commandWords, ...recorded, '--body', JSON.stringify(body), ...sources, ...given], context)
}

/** Another number than the first argument would be sent as a prompt, unnoticed. */
function refuseLateNumber(words: readonly string[]): void {
  const [word] = words
  if (words.length !== 1 || word === undefined || !/^\d{1,6}$/.test(word)) return
  throw new UsageError(`The number of the call comes before the flags: modelgate again ${word} …`, {
    code: 'number_not_first',
    hint: `To send ${word} as the prompt, give both: modelgate again 1 ${word} …`,
  })
}

/** The words at the beginning that name a command. */
function wordsOf(program: Command, repeat: readonly string[]): string[] {
  const words: string[] = []
  let command: Command | undefined = program
  for (const word of repeat) {
    command = command.commands.find((child) => child.name() === word)
    if (command === undefined) break
    words.push(word)
  }
  return words
}

async function targetOf(program: Command, words: readonly string[], load: LoadCommand): Promise<Command> {
  const top = program.commands.find((child) => child.name() === words[0])
  if (top === undefined)
    throw new UsageError('The call was made by a command that this version does not have.')
  await load(top)
  return words
    .slice(1)
    .reduce((command, word) => command.commands.find((child) => child.name() === word)!, top)
}

/** Parts the arguments into the flags of a command, with their values, and other words. */
function split(
  target: Command,
  args: readonly string[],
): { readonly flags: string[]; readonly words: string[] } {
  const flags: string[] = []
  const words: string[] = []
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!
    if (!/^-[A-Za-z-]/.test(arg)) {
      words.push(arg)
      continue
    }
    flags.push(arg)
    const option = target.options.find(({ long, short }) => arg === long || arg === short)
    if (option?.required && at + 1 < args.length) flags.push(args[++at]!)
  }
  return { flags, words }
}

/** The common options of this call, as they would be typed. */
function commonFlags(program: Command): string[] {
  const typed = (option: Option): string[] => {
    const value = program.getOptionValue(option.attributeName()) as unknown
    if (value === undefined || typeof value === 'boolean')
      return option.negate === (value === false) ? [option.long!] : []
    return (Array.isArray(value) ? value : [value]).flatMap((one: unknown) => [option.long!, String(one)])
  }
  return program.options
    .filter((option) => program.getOptionValueSource(option.attributeName()) === 'cli')
    .flatMap(typed)
}

/** The request, with the prompt of this call if there is one. */
async function requestWith(
  context: Context,
  options: AgainOptions,
  { request }: RepeatableCall,
  words: readonly string[],
): Promise<RepeatableCall['request']> {
  if (words.length === 0) return request
  const use = { settings: undefined, hasContent: true, joins: false }
  const prompt = await readTextPrompt(context, words, options as CommonOptions, use)
  return prompt === undefined ? request : withPrompt(request, prompt)
}

/** The flags of the recorded call that still apply. */
function recordedFlags(
  context: Context,
  options: AgainOptions,
  call: RepeatableCall,
  commandLength: number,
  given: readonly string[],
): string[] {
  const flags = call.repeat.slice(commandLength)
  const leavesSandbox =
    options.sandbox === false || options.baseUrl !== undefined || options.profile !== undefined
  const kept: string[] = []
  for (let at = 0; at < flags.length; at++) {
    const flag = flags[at]!
    const value = flags[at + 1] ?? ''
    if (leavesSandbox && flag === '--sandbox') continue
    if (leavesSandbox && flag === '-m' && value.startsWith('sandbox-')) at++
    else if (flag === '--output') {
      at++
      if (given.includes(flag)) continue
      const name = options.force ? value : freeOutput(context, value, call)
      kept.push(flag, name)
      if (name !== value)
        say(context, options.quiet === true, `${value} exists already; the result goes to ${name}.`)
    } else kept.push(flag)
  }
  return kept
}

/** Numbers change while others call; so what is repeated is told. */
function announce(context: Context, options: AgainOptions, { entry }: RepeatableCall): void {
  if (!context.stderr.isTerminal || options.dryRun || options.curl) return
  const age = roundedDuration(Math.max(0, (context.clock.now() - Date.parse(entry.time)) / 1000))
  const prompt = entry.prompt === undefined ? '' : `: ${JSON.stringify(entry.prompt.slice(0, 60))}`
  say(context, options.quiet === true, `again ${entry.command}, ${age} ago${prompt}`)
}
