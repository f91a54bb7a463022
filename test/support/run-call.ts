import { Command, CommanderError } from 'commander'
import { registerRun } from '../../src/commands/run.ts'
import * as change from '../../src/commands/run-change.ts'
import { registerRunMerge } from '../../src/commands/run-merge.ts'
import { registerRunPull, registerRunPush } from '../../src/commands/run-transfer.ts'
import { registerRunReport } from '../../src/commands/run-report.ts'
import { AlreadyReported, asModelgateError } from '../../src/errors.ts'
import type { RunDocument } from '../../src/events/run-document.ts'
import type { Outcome } from '../../src/operations/operation.ts'
import type { RunCall, RunOptions } from '../../src/pipeline/run/run-state.ts'
import type { ManifestCall } from '../../src/pipeline/run/project.ts'
import * as samples from './run-samples.ts'
import { testContext, type TestOverrides } from './test-context.ts'

/** What the commands of a manifest were told to do. */
type Asked =
  | { readonly what: 'run'; readonly call: RunCall; readonly options: RunOptions }
  | { readonly what: string; readonly call: ManifestCall; readonly options: unknown }

/** The engine of a test. */
export type FakeEngine = (call: RunCall, options: RunOptions) => Promise<Outcome<RunDocument>>

const ended: FakeEngine = async () => ({ kind: 'ended', document: samples.sampleRun })

/** Runs `modelgate run …` in this process, with these in place of what works on a manifest. */
export async function runCall(
  argv: readonly string[],
  overrides: TestOverrides = {},
  engine: FakeEngine = ended,
  push = samples.sampleRunPush,
) {
  const context = testContext(overrides)
  const asked: Asked[] = []
  const note =
    <Document>(what: string, document: Document) =>
    async (call: ManifestCall, ...options: unknown[]) => {
      asked.push({ what, call, options })
      return document
    }
  const program = new Command('modelgate').exitOverride().configureOutput({ outputError: () => {} })
  program.enablePositionalOptions()
  const run = program.command('run')
  registerRun(run, context, async (call, options) => {
    asked.push({ what: 'run', call, options })
    return await engine(call, options)
  })
  const adopted = { ...samples.sampleRunChange, command: 'run adopt' } as const
  change.registerRunAdopt(run.command('adopt'), context, note('adopt', adopted))
  change.registerRunPick(run.command('pick'), context, note('pick', samples.sampleRunChange))
  const restore = note('restore', samples.sampleRunRestore)
  change.registerRunRestore(run.command('restore'), context, async (call, id, number) => {
    return { ...(await restore(call, id, number)), restored: number ?? null }
  })
  registerRunReport(run.command('report'), context, note('report', samples.sampleRunReport))
  registerRunPush(run.command('push'), context, note('push', push))
  const pulled = { kind: 'ended', document: { ...samples.sampleRun, command: 'run pull' } } as const
  registerRunPull(run.command('pull'), context, note('pull', pulled))
  change.registerRunClean(run.command('clean'), context, note('clean', samples.sampleRunClean))
  const merged = { kind: 'ended', document: { ...samples.sampleRun, command: 'run merge' } } as const
  registerRunMerge(run.command('merge'), context, {
    mergeParts: note('merge', merged),
    resolveRun: note('resolve', merged),
  })
  let code = 0
  try {
    await program.parseAsync(['run', ...argv], { from: 'user' })
  } catch (error) {
    if (error instanceof AlreadyReported) code = error.exitCode
    else if (error instanceof CommanderError) {
      context.stderr.write(`${error.message.replace('error: ', '')}\n`)
      code = 2
    } else {
      const known = asModelgateError(error, true)
      context.stderr.write(`${known.message}\n`)
      code = known.exitCode
    }
  }
  return { code, out: context.stdout.text, err: context.stderr.text, asked }
}
