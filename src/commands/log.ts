import { Option, type Command } from 'commander'
import { stateFolder } from '../config/paths.ts'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import { outputVersion } from '../events/version.ts'
import { openCalls, type CallReader } from '../files/calls/read-calls.ts'
import { listCalls } from '../operations/read-log.ts'
import { logTable } from '../output/log-table.ts'
import { createProblemList } from '../problems.ts'
import { addShared, type CommonOptions, suggestWords } from './shared/options/common-options.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { readSettings } from './shared/gateway/open-gateway.ts'
import { printDocument } from './shared/call/print-document.ts'
import { parseSince } from './shared/options/since.ts'

interface LogOptions extends CommonOptions {
  since?: string
  grep?: string
  command?: string
  limit?: string
}

const defaultLimit = 20

/** `modelgate log`: what was called on this machine. */
export function registerLog(command: Command, context: Context): void {
  const own = [
    new Option('-n, --limit <number>', `show this many; 0 for all (${defaultLimit})`),
    new Option('--since <when>', 'only calls since: 2h, 3d, yesterday, 2026-11-22'),
    new Option('--grep <text>', 'only calls with this text in prompt, answer, command line or file names'),
    suggestWords(
      new Option('--command <name>', 'only calls of this command, or group: "image create", image'),
      ['generate', 'respond', 'chat', 'image', 'video', 'wait'],
    ),
  ]
  addExamples(command, [
    ['modelgate log', 'the newest calls'],
    ['modelgate log --since yesterday --command image'],
    ['modelgate log --grep "paper boat" -n 5'],
    ['modelgate log show', 'all of the last call'],
    ['modelgate log -n 0 --json | jq ".calls[].files[].path"'],
    ['modelgate log clear --before 30d'],
  ])
  for (const option of own) command.addOption(option)
  addShared(command, 'json jsonl model messages', { model: 'only calls of this model' })
  command.action(async (_: unknown, self: Command) => {
    if (self.args.length > 0) throw noArgument(self.args[0]!)
    await showLog(context, self.optsWithGlobals<LogOptions>())
  })
  command.allowExcessArguments()
}

function noArgument(word: string): UsageError {
  const isCall = /^[0-9a-f]{4,16}$/.test(word)
  return new UsageError(`modelgate log takes no argument ${JSON.stringify(word)}.`, {
    hint: isCall
      ? `To see that call: modelgate log show ${word}`
      : 'To search for a text: modelgate log --grep TEXT',
  })
}

/** What to say of lines that cannot be read. */
export function damagedLines({ damaged }: CallReader): string[] {
  if (damaged === 0) return []
  const lines = damaged === 1 ? '1 line of the log is' : `${damaged} lines of the log are`
  return [`${lines} damaged, and left out.`]
}

/** @throws UsageError, FileError */
async function showLog(context: Context, options: LogOptions): Promise<void> {
  const { model, ...others } = options
  const { since, grep, command } = others
  const problems = createProblemList()
  const settings = await problems.check(() => readSettings(context, others))
  const limit = await problems.check(() => parseLimit(options.limit))
  const start = await problems.check(() =>
    since === undefined ? undefined : parseSince('--since', since, context.clock.now()),
  )
  problems.throwIfAny()
  const log = await openCalls(stateFolder(context))
  const filter = { since: start, grep, command, model }
  // One more than is shown tells whether there are more.
  const found = listCalls(log, filter, limit! + 1, context.cwd)
  const calls = found.slice(0, limit)
  const warnings = damagedLines(log)
  const document = { version: outputVersion, command: 'log', calls, warnings } as const
  const now = context.clock.now() / 1000
  await printDocument(
    context,
    options,
    document,
    (styles, columns) => logTable(calls, { now, columns, styles }),
    { quiet: settings!.quiet.value, events: calls.map((call) => ({ type: 'call-list', call })) },
  )
  if (options.json || options.jsonl || settings!.quiet.value || !context.stdout.isTerminal) return
  const isFiltered = [since, grep, command, model].some((given) => given !== undefined)
  const note = noteFor({ shown: calls.length, hasMore: found.length > calls.length, isFiltered })
  if (note !== undefined) context.stderr.write(`${note}\n`)
}

interface Shown {
  readonly shown: number
  readonly hasMore: boolean
  readonly isFiltered: boolean
}

function noteFor({ shown, hasMore, isFiltered }: Shown): string | undefined {
  if (hasMore) return `There are more: modelgate log -n ${Math.max(shown * 2, defaultLimit)}`
  if (shown > 0) return undefined
  if (isFiltered) return 'No call in the log matches.'
  return 'The log is empty.'
}

function parseLimit(text: string | undefined): number {
  if (text === undefined) return defaultLimit
  if (/^\d{1,9}$/.test(text)) return Number(text) || Number.MAX_SAFE_INTEGER - 1
  throw new UsageError(`--limit must be a whole number from 0, not ${JSON.stringify(text)}.`)
}
