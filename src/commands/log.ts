import { Option, type Command } from 'commander'
import { stateFolder } from '../context/folders.ts'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import { outputVersion } from '../events/version.ts'
import { openCalls, type CallReader } from '../files/calls/read-calls.ts'
import { listCalls, describeCall, findCall, endedAt } from '../operations/read-log.ts'
import { callReport, logTable } from '../output/log-table.ts'
import {
  addShared,
  suggestWords,
  type CommonOptions,
  numberOption,
  addExamples,
} from './shared/options/common-options.ts'
import { readSettings } from './shared/gateway/open-gateway.ts'
import { printDocument } from './shared/call/print-document.ts'
import { parseSince } from './shared/options/since.ts'
import type { Columns } from '../output/table-cells.ts'
import { isPrunable, openJobs } from '../operations/jobs.ts'
import { createGate } from '../output/gate.ts'
import { counted } from '../quantities.ts'
import { askYesNo, canAsk } from './shared/input/questions.ts'

interface LogOptions extends CommonOptions {
  since?: string
  grep?: string
  command?: string
  limit?: number
}

const defaultLimit = 20

export function registerLog(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate log', 'the newest calls'],
    ['modelgate log --since yesterday --command image'],
    ['modelgate log --grep "paper boat" -n 5'],
    ['modelgate log show', 'all of the last call'],
    ['modelgate log -n 0 --json | jq ".calls[].files[].path"'],
    ['modelgate log clear --before 30d'],
  ])
  command
    .addOption(numberOption('-n, --limit <number>', `show this many; 0 for all (${defaultLimit})`))
    .option('--since <when>', 'only calls since: 2h, 3d, yesterday, 2026-11-22')
    .option('--grep <text>', 'only calls with this text in prompt, answer, command line or file names')
    .addOption(
      suggestWords(
        new Option('--command <name>', 'only calls of this command, or group: "image create", image'),
        ['generate', 'respond', 'chat', 'image', 'video', 'wait'],
      ),
    )
  addShared(command, 'json jsonl model messages', { model: 'only calls of this model' })
  command.action(async (options: LogOptions) => {
    const [word] = command.args
    if (word === undefined) return await showLog(context, options)
    const show = `To see that call: modelgate log show ${word}`
    throw new UsageError(`modelgate log takes no argument ${JSON.stringify(word)}.`, {
      hint: /^[0-9a-f]{4,16}$/.test(word) ? show : 'To search for a text: modelgate log --grep TEXT',
    })
  })
  command.allowExcessArguments()
}

export function damagedLines({ damaged }: CallReader): string[] {
  if (damaged === 0) return []
  const lines = damaged === 1 ? '1 line of the log is' : `${damaged} lines of the log are`
  return [`${lines} damaged, and left out.`]
}

async function showLog(context: Context, options: LogOptions): Promise<void> {
  const { model, ...others } = options
  const { since, grep, command } = others
  const limit = (options.limit ?? defaultLimit) || Infinity
  const start = since === undefined ? undefined : parseSince('--since', since, context.clock.now())
  const settings = await readSettings(context, others)
  const log = await openCalls(stateFolder(context))
  const filter = { since: start, grep, command, model }
  // One more than is shown: are there more?
  const found = [...listCalls(log, filter, context.cwd).take(limit + 1)]
  const calls = found.slice(0, limit)
  const warnings = damagedLines(log)
  const document = { version: outputVersion, command: 'log', calls, warnings } as const
  const now = context.clock.now() / 1000
  await printDocument(
    context,
    options,
    document,
    (styles, columns) => logTable(calls, { now, columns, styles }),
    { quiet: settings.quiet.value, events: calls.map((call) => ({ type: 'call-list', call })) },
  )
  if (options.json || options.jsonl || settings.quiet.value || !context.stdout.isTerminal) return
  const isFiltered = Object.values(filter).some((given) => given !== undefined)
  const { stderr } = context
  const more = Math.max(calls.length * 2, defaultLimit)
  if (found.length > calls.length) stderr.write(`There are more: modelgate log -n ${more}\n`)
  else if (calls.length === 0) {
    stderr.write(isFiltered ? 'No call in the log matches.\n' : 'The log is empty.\n')
  }
}

export function registerLogShow(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate log show', 'the last call'],
    ['modelgate log show 3fa9c2d1'],
    ['modelgate log show --json | jq -r .call.reply.text'],
  ])
  command.argument('[id]', 'id of the call, or the beginning of it; the last call without')
  addShared(command, 'json jsonl messages')
  command.action(async (id: string | undefined, { json, jsonl, quiet }: CommonOptions) => {
    const log = await openCalls(stateFolder(context))
    const call = await describeCall(findCall(log, id), context.cwd)
    const warnings = damagedLines(log)
    const document = { version: outputVersion, command: 'log show', call, warnings } as const
    const describe = (_: unknown, columns: Columns) => callReport(call, columns)
    await printDocument(context, { json, jsonl }, document, describe, { quiet: quiet === true })
  })
}

interface ClearOptions extends CommonOptions {
  before?: string
}

/** The files that the calls made, and records of jobs, stay. */
export function registerLogClear(command: Command, context: Context): void {
  addExamples(command, [['modelgate log clear', 'asks first'], ['modelgate log clear --before 30d --force']])
  command.option('--before <when>', 'only calls that ended before: 30d, yesterday, 2026-11-01')
  addShared(command, 'json jsonl force messages', { force: 'do not ask' })
  command.action(async (options: ClearOptions) => {
    const { before, json, jsonl, force, quiet, noInput } = options
    const time = before === undefined ? Infinity : parseSince('--before', before, context.clock.now())
    const log = await openCalls(stateFolder(context))
    let count = 0
    for (const { facts } of log.calls()) if (facts.exit_code !== null && endedAt(facts) < time) count++
    const calls = counted(count, 'call')
    if (count > 0 && !force) {
      if (!canAsk(context, noInput)) {
        const problem =
          'modelgate log clear asks before it forgets anything, and there is no terminal to ask on.'
        throw new UsageError(problem, { code: 'not_confirmed', hint: 'Add --force.' })
      }
      if (!(await askYesNo(context, `Forget ${calls}?`)))
        return void context.stderr.write('Nothing was forgotten.\n')
    }
    const { jobs } = await openJobs(context, stateFolder(context), createGate(context)).list()
    const now = context.clock.now() / 1000
    const kept = new Set(jobs.flatMap(({ key, record }) => (isPrunable(record, now) ? [] : [key])))
    const removed = log.forget(time, kept)
    const document = { version: outputVersion, command: 'log clear', removed, warnings: [] } as const
    await printDocument(context, options, document, () => '')
    const note = removed === 0 ? 'Nothing to forget.' : `${counted(removed, 'call')} forgotten.`
    if (!json && !jsonl && !quiet) context.stderr.write(`${note}\n`)
  })
}
