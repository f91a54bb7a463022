import { Option, type Command } from 'commander'
import type { Context } from '../context.ts'
import { costText } from '../output/run/run-lines.ts'
import type { Output } from '../output/output.ts'
import type { ManifestCall } from '../pipeline/run/project.ts'
import type { Confirmation, RunCall } from '../pipeline/run/run-state.ts'
import { runManifest } from '../pipeline/run/run.ts'
import { createProblemList } from '../problems.ts'
import { fileOption, showRun } from './run/manifest-command.ts'
import { defaultGrace, graceOf, modeOf, shardOf, type RunFlags } from './run/run-flags.ts'
import { addShared, collect, addExamples, showFirst } from './shared/options/common-options.ts'
import { readLimits } from './shared/options/read-limits.ts'
import { openGateway, startCall, type OpenGateway } from './shared/gateway/open-gateway.ts'
import { askYesNo, canAsk } from './shared/input/questions.ts'

/** On a terminal more creations than this are confirmed. */
const maxUnconfirmed = 20

export function registerRun(command: Command, context: Context, run = runManifest): void {
  addExamples(command, [
    ['modelgate run --sandbox', 'try a manifest, nothing configured'],
    ['modelgate run --plan', 'what would be generated, why, and what it costs'],
    ['modelgate run', 'generate what is missing or out of date'],
    ['modelgate run hero "photos*"', 'these, and what they need'],
    ['modelgate run --check', 'in CI, without a key: is everything up to date?'],
    ['modelgate run --generate --max-creates 40', 'in CI, to generate'],
    ['modelgate run --regenerate hero', 'generate it again, and pay for it'],
    ['modelgate run --shard 2/5 --generate', 'one part of five'],
    ['modelgate run --queue redis://queue --store /srv/shared', 'with workers on other machines'],
  ])
  command.argument(
    '[job...]',
    'names of jobs, or of instances such as photos[shoe]; "*" and "?" are wildcards; by default all',
  )
  command
    .optionsGroup('Run:')
    .addOption(fileOption())
    .addOption(
      new Option('--plan', 'print what would be done, and why, without contacting a gateway').conflicts(
        'check frozen generate newRun detach'.split(' '),
      ),
    )
    .addOption(
      new Option(
        '--check',
        'exit 13 unless everything is up to date, without contacting a gateway',
      ).conflicts('frozen generate regenerate force newRun detach'.split(' ')),
    )
    .addOption(
      new Option('--frozen', 'restore files, but generate nothing (the default where CI is set)').conflicts(
        'generate regenerate newRun detach'.split(' '),
      ),
    )
    .option('--generate', 'generate even where CI is set')
    .option('--regenerate <job>', 'generate it again, even if it is up to date (repeatable)', collect)
    .option('--yes', `do not ask before creating more than ${maxUnconfirmed} results`)
    .option('--new-run', 'start a new run, with a budget of its own, instead of resuming')
    .option('--shard <part>', 'do only this part of the work, such as 2/5; run merge joins the parts')
    .option('--grace <seconds>', `on Ctrl-C, how long to wait for requests under way (${defaultGrace})`)
    .option('--queue <url>', 'have the workers of a queue generate it: postgres:// or redis://')
    .option('--store <place>', 'the folder or s3://bucket/prefix that they all share')
    .option('--detach', 'leave it to the workers; the same command without it collects the results')
  addShared(command, 'json jsonl force githubOutput money gateway messages', {
    force: 'move files that differ from the lock aside, and continue',
    maxCreates: 'create at most this many results in the run, restarts included',
    maxCost: 'stop the run at this estimated cost',
    timeout: 'limit for the whole run (none)',
    githubOutput: 'set this output of a GitHub Actions step to the paths',
  })
  showFirst(command, 'file plan check frozen generate regenerate yes shard queue store')
  command.action(async (jobs: string[], flags: RunFlags) => runJobs(context, flags, jobs, run))
}

async function runJobs(context: Context, flags: RunFlags, jobs: readonly string[], run: typeof runManifest) {
  const problems = createProblemList()
  const { check } = problems
  const { regenerate, force, newRun, detach, yes, noInput, sandbox } = flags
  const chosen = { jobs, regenerate, force, newRun, detach }
  const call = await check(() => startCall(context, flags))
  const mode = await check(() => modeOf(context.env, flags))
  const limits = await check(() => readLimits(context, flags))
  const graceS = await check(() => graceOf(flags.grace))
  const shard = await check(() => shardOf(flags.shard))
  const queue = await check(async () => {
    if (problems.any) return undefined
    if (call!.settings.queue.value === undefined && !detach && flags.store === undefined) return undefined
    const { readQueue } = await import('./run/shared-places.ts')
    return await readQueue(call!, { mode: mode!, shard: shard! })
  })
  problems.throwIfAny()
  const { settings } = call!
  const isAttended = canAsk(context, noInput)
  const mayAsk = !yes && !sandbox && isAttended
  // Without a terminal nobody is asked: there the budget protects.
  const confirm = async ({ creates, elements, sources, estimate }: Confirmation) => {
    if (!mayAsk || (creates <= maxUnconfirmed && elements === 0)) return true
    const part = elements === 0 ? '' : ` (${elements} for the elements of ${sources.join(' and ')})`
    const question = `Create ${creates} result${creates === 1 ? '' : 's'}${part}${costText(estimate)}?`
    return await askYesNo(context, question)
  }
  let opened: OpenGateway | undefined
  const runAll = (manifest: ManifestCall, output: Output) => {
    const whole: RunCall = {
      ...manifest,
      generating: [...manifest.generating, ...(queue?.words ?? [])],
      listener: output,
      queue: queue?.call,
      idempotencyHonoured: settings.idempotencyHonoured.value,
      // Only when it is needed: a run that generates nothing needs neither address nor key.
      async connect() {
        // The limits of the flags are those of the run, which counts for itself.
        const { maxCreates: _, maxCost: __, ...own } = flags
        return (opened = await openGateway({ ...call!, options: own }, false, output))
      },
    }
    return run(whole, {
      ...chosen,
      mode: mode!,
      shard: shard!,
      graceS: graceS!,
      maxCreates: limits!.own,
      maxCost: limits!.cost,
      timeoutS: settings.timeout.value,
      isAttended,
      confirm,
    })
  }
  await showRun(call!, runAll, () => opened?.hasSent() ?? false).finally(() => opened?.close())
}
