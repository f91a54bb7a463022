import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import { outputVersion } from '../events/version.ts'
import { mergeParts, resolveRun } from '../pipeline/changes/merge.ts'
import { showRun, takeManifest, type ManifestOptions } from './run/manifest-command.ts'
import { startCall } from './shared/gateway/open-gateway.ts'
import { addExamples } from './shared/options/common-options.ts'

const functions = { mergeParts, resolveRun }

export function registerRunMerge(command: Command, context: Context, merge = functions): void {
  addExamples(command, [
    ['modelgate run merge parts/*', 'the folders that the shards left'],
    ['modelgate run merge --resolve', 'a lock with conflict markers of git'],
  ])
  command
    .argument('[folder...]', 'the folders of the parts, such as .modelgate/parts/2-of-5')
    .option('--resolve', 'resolve the conflict markers in the lock, and keep what is up to date')
  type Flags = ManifestOptions & { resolve?: true }
  takeManifest(command, 'jsonl githubOutput').action(async (folders: string[], options: Flags) => {
    const { resolve } = options
    if (resolve && folders.length > 0) throw new UsageError('Give either folders or --resolve, not both.')
    if (!resolve && folders.length === 0) {
      throw new UsageError('run merge needs the folders of the parts, or --resolve.', {
        hint: 'Each run with --shard leaves such a folder in .modelgate/parts/.',
      })
    }
    await showRun(await startCall(context, options), async (manifest, output) => {
      output.event({ type: 'start', version: outputVersion, command: 'run merge', model: null })
      const outcome = await (resolve ? merge.resolveRun(manifest) : merge.mergeParts(manifest, folders))
      for (const message of outcome.document?.warnings ?? []) output.event({ type: 'warning-add', message })
      for (const instance of outcome.document?.instances ?? []) {
        if (instance.action !== null) output.event({ type: 'instance-end', ...instance })
      }
      return outcome
    })
  })
}
