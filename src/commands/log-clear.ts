import type { Command } from 'commander'
import { stateFolder } from '../config/paths.ts'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import { outputVersion } from '../events/version.ts'
import { openCalls } from '../files/calls/read-calls.ts'
import { isPrunable, openJobs } from '../operations/jobs.ts'
import { endedAt } from '../operations/read-log.ts'
import { createGate } from '../output/gate.ts'
import { addShared, type CommonOptions } from './shared/options/common-options.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { counted } from '../quantities.ts'
import { printDocument } from './shared/call/print-document.ts'
import { askYesNo, canAsk } from './shared/input/questions.ts'
import { parseSince } from './shared/options/since.ts'

interface ClearOptions extends CommonOptions {
  before?: string
}

/** `modelgate log clear`: forgets calls. The files that they made, and records of jobs, stay. */
export function registerLogClear(command: Command, context: Context): void {
  addExamples(command, [['modelgate log clear', 'asks first'], ['modelgate log clear --before 30d --force']])
  command.option('--before <when>', 'only calls that ended before: 30d, yesterday, 2026-11-01')
  addShared(command, 'json jsonl force messages', { force: 'do not ask' })
  command.action(async (_: unknown, self: Command) => clear(context, self.optsWithGlobals<ClearOptions>()))
}

/** @throws UsageError without `--force` where nobody can be asked; FileError */
async function clear(context: Context, options: ClearOptions): Promise<void> {
  const { before, json, jsonl, force, quiet } = options
  const time = before === undefined ? Infinity : parseSince('--before', before, context.clock.now())
  const log = await openCalls(stateFolder(context))
  let count = 0
  for (const { facts } of log.calls()) if (facts.exit_code !== null && endedAt(facts) < time) count++
  const calls = counted(count, 'call')
  if (count > 0 && !force && !(await isConfirmed(context, options, `Forget ${calls}?`))) {
    return void context.stderr.write('Nothing was forgotten.\n')
  }
  const { jobs } = await openJobs(context, stateFolder(context), createGate(context)).list()
  const now = context.clock.now() / 1000
  const kept = new Set(jobs.flatMap(({ key, record }) => (isPrunable(record, now) ? [] : [key])))
  const removed = log.forget(time, kept)
  const document = { version: outputVersion, command: 'log clear', removed, warnings: [] } as const
  await printDocument(context, options, document, () => '')
  if (!json && !jsonl && !quiet) {
    context.stderr.write(
      removed === 0
        ? 'Nothing to forget.\n'
        : `${removed === count ? calls : `${removed} calls`} forgotten.\n`,
    )
  }
}

async function isConfirmed(context: Context, { noInput }: ClearOptions, question: string): Promise<boolean> {
  if (canAsk(context, noInput)) return await askYesNo(context, question, false)
  throw new UsageError(
    'modelgate log clear asks before it forgets anything, and there is no terminal to ask on.',
    {
      code: 'not_confirmed',
      hint: 'Add --force.',
    },
  )
}
