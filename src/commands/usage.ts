import type { Command } from 'commander'
import { stateFolder } from '../context/folders.ts'
import { resolveSettings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { usageGroupings, type UsageGrouping } from '../events/call.ts'
import { openCalls, type CallReader } from '../files/calls/read-calls.ts'
import { CallSums } from '../operations/usage-report.ts'
import type { Columns } from '../output/table-cells.ts'
import { usageNotes, usageTable } from '../output/usage-table.ts'
import { damagedLines } from './log.ts'
import { addShared, type CommonOptions, wordOption, addExamples } from './shared/options/common-options.ts'
import { printDocument, printNote } from './shared/call/print-document.ts'
import { parseSince } from './shared/options/since.ts'

interface UsageOptions extends CommonOptions {
  since?: string
  by: UsageGrouping
}

export function registerUsage(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate usage --since today'],
    ['modelgate usage --since 30d --by day'],
    ['modelgate usage --json | jq .total.costs'],
  ])
  addShared(command, 'json profile messages')
  command.option('--since <when>', 'only calls since: 2026-11-22, today, 24h, 7d')
  const by = `a row for each ${usageGroupings.join(', ')}`
  command.addOption(wordOption('--by <what>', by, usageGroupings).default('model'))
  command.action(async (options: UsageOptions) => {
    const { clock } = context
    const since = options.since === undefined ? undefined : parseSince('--since', options.since, clock.now())
    const settings = await resolveSettings(context, options)
    const prices = settings.prices.value
    const calls = await openCalls(stateFolder(context))
    const sums = sumsSince(calls, since)
    const isQuiet = settings.quiet.value
    const document = { ...sums.report(options.by, since, prices), warnings: damagedLines(calls) }
    const table = (_: unknown, columns: Columns) => usageTable(document, columns)
    await printDocument(context, options, document, table, { quiet: isQuiet })
    if (options.json || isQuiet) return
    for (const note of usageNotes(document, Object.keys(prices).length > 0)) printNote(context, note)
  })
}

/** Up to this many calls are read again sooner than their sums would be. */
const fewCalls = 2_000

/** The sums of all calls are kept, so that the next report reads only what has been added. */
function sumsSince(calls: CallReader, since = 0): CallSums {
  const kept = since === 0 ? calls.keptSums() : undefined
  const place = kept?.place ?? { read: {}, begun: {} }
  const sums = new CallSums(kept?.sums)
  let count = 0
  for (const call of calls.endedSince(since, place)) {
    sums.add(call)
    count++
  }
  if (since === 0 && count > fewCalls) calls.keepSums({ place, sums: sums.toJSON() })
  for (const call of calls.begunSince(since, place)) sums.add(call)
  return sums
}
