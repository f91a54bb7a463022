import { Option, type Command } from 'commander'
import type { Settings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import type { ModelsDocument } from '../events/model.ts'
import { outputVersion } from '../events/output-schema.ts'
import { modelListRequest } from '../gateway/model-list.ts'
import { describeModels, listModels, type ModelsRequest } from '../operations/list-models.ts'
import { createGate, type Gate } from '../output/gate.ts'
import { modelReport, modelTable } from '../output/model-table.ts'
import { createProblemList } from '../problems.ts'
import { type CommonOptions, isDryRun, refuseOptions } from './shared/options/common-options.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { readSettings } from './shared/gateway/open-gateway.ts'
import { openOutput, runOperation } from './shared/call/run-operation.ts'

interface ModelsOptions extends CommonOptions {
  remote?: true
}

/** The common options that do not apply to this command. */
const refused: ReadonlySet<string> = new Set(
  'model output force githubOutput usage maxCreates maxCost strict body set validate stdinTimeout'.split(' '),
)

const modelsExamples: readonly Example[] = [
  ['modelgate models', 'what is known, without a gateway'],
  ['modelgate models gpt-image-2', 'all limits of one model'],
  ['modelgate models --remote', 'what the gateway lists'],
  ['modelgate models --json | jq -r ".models[].id"'],
]

/** `modelgate models`: the models that are known, or that the gateway lists, with their limits. */
export function registerModels(command: Command, context: Context): void {
  addExamples(command, modelsExamples)
  command
    .argument('[id]', 'a model: shows all that is known of it')
    .addOption(new Option('--remote', 'ask the gateway for its models'))
  refuseOptions(command, refused)
  command.action(async (id: string | undefined, _: unknown, self: Command) =>
    showModels(context, self.optsWithGlobals<ModelsOptions>(), id),
  )
}

/** @throws UsageError; AlreadyReported for a failure of the gateway */
async function showModels(context: Context, options: ModelsOptions, id: string | undefined): Promise<void> {
  const problems = createProblemList()
  const settings = await problems.check(() => readSettings(context, options))
  await problems.check(() => checkOptions(options, id))
  problems.throwIfAny()
  const request = { id, configured: settings!.families.value }
  await (options.remote ? showRemote : showKnown)(context, options, settings!, request)
}

function checkOptions({ remote, raw, dryRun, curl }: ModelsOptions, id: string | undefined): void {
  if (id === '') throw new UsageError('The id of the model is empty.')
  const flags = { '--raw': raw, '--dry-run': dryRun, '--curl': curl }
  const given = Object.entries(flags).flatMap(([flag, isGiven]) => (isGiven ? [flag] : []))
  if (remote || given.length === 0) return
  throw new UsageError(given.map((flag) => `${flag} needs --remote: without it no gateway is asked.`))
}

async function showKnown(
  context: Context,
  options: ModelsOptions,
  settings: Settings,
  request: ModelsRequest,
): Promise<void> {
  const gate = createGate(context)
  const document = describeModels(request, context.clock.now())
  const output = await openOutput(context, options, settings, gate, { result: 'job' })
  output.event({ type: 'start', version: outputVersion, command: 'models', model: request.id ?? null })
  for (const model of document.models) output.event({ type: 'model-list', model })
  print(context, options, settings, gate, request, document)
  await output.end(document)
}

async function showRemote(
  context: Context,
  options: ModelsOptions,
  settings: Settings,
  request: ModelsRequest,
): Promise<void> {
  await runOperation(context, options, settings, {
    streamed: false,
    describeRequest: (gateway) => ({ request: modelListRequest(gateway), content: { body: undefined } }),
    output: () => ({ result: 'job' }),
    async operation(call, gate) {
      const outcome = await listModels(call, request)
      if (outcome.kind === 'ended' && !isDryRun(options))
        print(context, options, settings, gate, request, outcome.document)
      return outcome
    },
  })
}

/** Prints the table or the report, unless JSON is printed instead. */
function print(
  { stdout, stderr }: Context,
  { json, jsonl, raw }: ModelsOptions,
  { quiet }: Settings,
  gate: Gate,
  { id }: ModelsRequest,
  { models }: ModelsDocument,
): void {
  if (json || jsonl || raw) return
  const columns = stdout.isTerminal ? stdout.columns : undefined
  const text =
    id === undefined
      ? modelTable(models, columns)
      : models.map((model) => modelReport(model, columns)).join('')
  stdout.write(gate.report(text))
  const hasMore = id === undefined && models.length > 0
  if (hasMore && stdout.isTerminal && !quiet.value) stderr.write('All limits of one: modelgate models ID\n')
}
