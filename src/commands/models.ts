import { Option, type Command } from 'commander'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import type { ModelsDocument } from '../events/model.ts'
import { isMissing, modelListRequest } from '../gateway/model-list.ts'
import { describeModels, listModels } from '../operations/list-models.ts'
import { modelReport, modelTable } from '../output/model-table.ts'
import type { Columns } from '../output/table-cells.ts'
import { addShared, type CommonOptions, addExamples } from './shared/options/common-options.ts'
import { startCall, type CommandCall } from './shared/gateway/open-gateway.ts'
import { printDocument } from './shared/call/print-document.ts'
import { runOperation } from './shared/call/run-operation.ts'

interface ModelsOptions extends CommonOptions {
  known?: true
}

export function registerModels(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate models', 'what the gateway lists'],
    ['modelgate models gpt-image-2', 'all limits of one model'],
    ['modelgate models --known', 'what is known without a gateway'],
    ['modelgate models --json | jq -r ".models[].id"'],
  ])
  command
    .argument('[id]', 'a model: show everything known about it')
    .addOption(new Option('--known', 'show the built-in table, without contacting a gateway'))
  addShared(command, 'json jsonl raw dryRun curl gateway messages')
  command.action(async (id: string | undefined, options: ModelsOptions) => {
    const isKnown = options.known === true || id !== undefined
    checkOptions(options, id, isKnown)
    const call = await startCall(context, options)
    const { families, baseUrl, quiet } = call.settings
    if (!isKnown && (options.sandbox || baseUrl.value !== undefined)) return await showListed(call)
    const document = describeModels(id, families.value, context.clock.now(), isKnown ? [] : [noGateway])
    const { models } = document
    const describe = (_: unknown, columns: Columns) =>
      id === undefined
        ? modelTable(models, columns)
        : models.map((model) => modelReport(model, columns)).join('')
    const events = models.map((model) => ({ type: 'model-list', model }) as const)
    await printDocument(context, options, document, describe, { quiet: quiet.value, events })
  })
}

const noList = 'The gateway does not list its models: these are those that are known here.'
const noGateway = 'No gateway is set up: these are the models that are known here.'

function checkOptions({ raw, dryRun, curl }: ModelsOptions, id: string | undefined, isKnown: boolean): void {
  if (id === '') throw new UsageError('The id of the model is empty.')
  if (id === 'list' || id === 'ls') throw new UsageError(`modelgate models lists them: leave out "${id}".`)
  const flags = { '--raw': raw, '--dry-run': dryRun, '--curl': curl }
  const given = Object.entries(flags).flatMap(([flag, isGiven]) => (isGiven ? [flag] : []))
  if (!isKnown || given.length === 0) return
  const other = id === undefined ? '--known' : 'an id'
  throw new UsageError(
    given.map((flag) => `${flag} shows what the gateway is asked, and with ${other} it is not.`),
  )
}

async function showListed(call: CommandCall<ModelsOptions>): Promise<void> {
  const { context, options, settings } = call
  const { value: configured } = settings.families
  await runOperation(call, {
    describeRequest: (gateway) => modelListRequest(gateway),
    output: () => ({
      result: 'job',
      describe: ({ models }: ModelsDocument, _, columns) => modelTable(models, columns),
    }),
    async operation(opened) {
      const outcome = await listModels(opened, configured)
      if (outcome.kind !== 'failed' || !isMissing(outcome.error) || options.raw) return outcome
      const known = describeModels(undefined, configured, context.clock.now(), [noList])
      for (const model of known.models) opened.listener.event({ type: 'model-list', model })
      opened.listener.event({ type: 'warning-add', message: noList })
      return { kind: 'ended', document: known }
    },
  })
}
