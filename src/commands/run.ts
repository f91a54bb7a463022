import { Option, type Command } from 'commander'
import type { Settings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import type { CostEstimate } from '../events/cost.ts'
import type { Gate } from '../output/gate.ts'
import type { Output } from '../output/output.ts'
import { costText } from '../output/run/run-lines.ts'
import type { RunCall, RunOptions } from '../pipeline/run/run-call.ts'
import { runManifest } from '../pipeline/run/run-manifest.ts'
import { createProblemList } from '../problems.ts'
import { fileOption } from './run/manifest-command.ts'
import type { RunQueue } from './run/run-queue.ts'
import { defaultGrace, readRunFlags, type RunFlags } from './run/run-flags.ts'
import { showRun } from './run/show-run.ts'
import { collect, explainCommon, refuseOptions } from './shared/options/common-options.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { openGateway, readSettings, type OpenGateway } from './shared/gateway/open-gateway.ts'
import { askYesNo, canAsk } from './shared/input/questions.ts'

/** On a terminal more creations than this are confirmed. */
const maxUnconfirmed = 20

/** The common options that mean nothing where the manifest has the requests. */
const refused: ReadonlySet<string> = new Set(
  'model output raw dryRun curl body set validate usage strict stdinTimeout'.split(' '),
)

const runExamples: readonly Example[] = [
  ['modelgate run --sandbox', 'try a manifest, nothing configured'],
  ['modelgate run --plan', 'what would be made, why, and what it costs'],
  ['modelgate run', 'make what is missing or no longer fits'],
  ['modelgate run hero "photos*"', 'these, and what they need'],
  ['modelgate run --check', 'in CI, without a key: is all as locked?'],
  ['modelgate run --generate --max-creates 40', 'in CI, to generate'],
  ['modelgate run --regenerate hero', 'make it once more, and pay for it'],
  ['modelgate run --shard 2/5 --generate', 'one part of five'],
  ['modelgate run --queue redis://queue --store /srv/shared', 'by workers on other machines'],
]

/** `modelgate run`: brings the assets of a manifest up to date. */
export function registerRun(command: Command, context: Context, run = runManifest): void {
  addExamples(command, runExamples)
  command.argument(
    '[job...]',
    'names of jobs, or of instances such as photos[shoe]; "*" and "?" are wildcards; by default all',
  )
  const look = [
    new Option('--plan', 'print what would be done, and why; no gateway is asked'),
    new Option('--check', 'fail (exit 13) unless all is as locked; no gateway is asked'),
    new Option('--frozen', 'restore, but generate nothing (the default where CI is set)'),
    new Option('--generate', 'generate also where CI is set'),
  ]
  const make = [
    new Option('--regenerate <job>', 'make it once more, whatever is locked (repeatable)').argParser(collect),
    new Option('--yes', `do not ask before more than ${maxUnconfirmed} creations`),
    new Option('--new-run', 'begin a new run, with a budget of its own, instead of going on'),
    new Option('--shard <part>', 'only this part of the work: 2/5; run merge puts parts together'),
    new Option('--grace <seconds>', `on Ctrl-C, how long requests may still end (${defaultGrace})`),
  ]
  const queue = [
    new Option('--queue <url>', 'have it made by the workers of a queue: postgres:// or redis://'),
    new Option('--store <place>', 'the folder or s3://bucket/prefix that all of them share'),
    new Option('--detach', 'leave it to the workers; the same command takes it up'),
  ]
  const own = [fileOption(), ...look, ...make, ...queue]
  for (const option of own) command.addOption(option.helpGroup('Run:'))
  refuseOptions(command, refused)
  explainCommon(command, {
    force: 'put files that are not as locked aside, and go on',
    maxCreates: 'let the run create at most so many results, those before a restart included',
    maxCost: 'stop the run at this estimated cost',
    timeout: 'limit for the whole run (none)',
    githubOutput: 'write the paths to this output of a GitHub Actions step instead',
  })
  command.action(async (jobs: string[], _: unknown, self: Command) =>
    runJobs(context, self.optsWithGlobals<RunFlags>(), jobs, run),
  )
}

/** @throws AlreadyReported for a failure; UsageError before anything is done */
async function runJobs(
  context: Context,
  flags: RunFlags,
  jobs: readonly string[],
  run: typeof runManifest,
): Promise<void> {
  const { check, throwIfAny } = createProblemList()
  const settings = await check(() => readSettings(context, flags))
  const options = await check(() => readRunFlags(context, flags, jobs, settings?.timeout.value))
  const queue = await check(() => queueOf(context, flags, settings, options))
  throwIfAny()
  const { yes, input, sandbox } = flags
  const mayAsk = !yes && !sandbox && canAsk(context, !input)
  // Without a terminal nobody is asked: there the budget protects.
  const confirm = async (creates: number, estimate: CostEstimate | null) =>
    creates <= maxUnconfirmed ||
    !mayAsk ||
    (await askYesNo(context, `Create ${creates} results${costText(estimate)}?`, false))
  let opened: OpenGateway | undefined
  await showRun(context, flags, settings!, {
    run(call, gate, output) {
      const whole: RunCall = {
        ...call,
        generating: [...call.generating, ...(queue?.words ?? [])],
        listener: output,
        prices: settings!.prices.value,
        queue: queue?.callFor(gate),
        idempotencyHonoured: settings!.idempotencyHonoured.value,
        async connect() {
          opened = await connect(context, flags, settings!, gate, output)
          return sharedOf(settings!, opened)
        },
      }
      return run(whole, { ...options!, confirm })
    },
    hasSent: () => opened?.hasSent() ?? false,
  }).finally(() => opened?.close())
}

/** The queue that the run gives its requests to, if it is asked for. @throws UsageError */
async function queueOf(
  context: Context,
  flags: RunFlags,
  settings: Settings | undefined,
  options: Omit<RunOptions, 'confirm'> | undefined,
): Promise<RunQueue | undefined> {
  if (settings === undefined || options === undefined) return undefined
  const { detach, store } = flags
  if (settings.queue.value === undefined && detach === undefined && store === undefined) return undefined
  const { readQueue } = await import('./run/run-queue.ts')
  return await readQueue(context, flags, settings, options)
}

/** Opens the gateway when it is needed: a run that generates nothing needs neither address nor key. */
async function connect(
  context: Context,
  flags: RunFlags,
  settings: Settings,
  gate: Gate,
  output: Output,
): Promise<OpenGateway> {
  // The limits of the flags are those of the run, which counts for itself.
  const { maxCreates: _, maxCost: __, ...own } = flags
  return await openGateway(context, own, settings, false, () => output, gate)
}

function sharedOf(settings: Settings, { gateway, newSpending }: OpenGateway) {
  return {
    gateway,
    newSpending,
    prices: settings.prices.value,
    families: settings.families.value,
    profile: settings.profile.value,
    pollIntervalS: settings.pollInterval.value,
  }
}
