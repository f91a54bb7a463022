import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { ModelgateError } from '../errors.ts'
import type { RunPushDocument } from '../events/run-document.ts'
import { outputVersion } from '../events/version.ts'
import { leadTo, nextCommand } from '../files/next-command.ts'
import { pullOutputs, pushOutputs } from '../pipeline/changes/transfer.ts'
import { openByteSource, openSharedStore } from '../pipeline/store/shared-store.ts'
import { counted, firstFew } from '../quantities.ts'
import {
  pathLines,
  showDocument,
  showRun,
  takeManifest,
  type ManifestOptions,
} from './run/manifest-command.ts'
import { storeNetwork } from './run/shared-places.ts'
import { startCall } from './shared/gateway/open-gateway.ts'
import { addExamples } from './shared/options/common-options.ts'

const meanings = { allowHttp: 'allow an http:// address of an S3 server on another host' }

export function registerRunPush(command: Command, context: Context, push = pushOutputs): void {
  addExamples(command, [
    ['modelgate run push --to s3://assets/shop', 'after a run, for those who have only the lock'],
    ['modelgate run push --to /srv/assets', 'a folder that a web server may serve'],
  ])
  command.requiredOption('--to <place>', 'a folder, or s3://bucket/prefix')
  takeManifest(command, 'caFile allowHttp', meanings).action(
    async (options: ManifestOptions & { to: string }) =>
      showDocument(context, options, {
        run: async (manifest, call) =>
          push(manifest, await openSharedStore(context, options.to, await storeNetwork(call))),
        result: ({ files }) => pathLines(files.filter(({ state }) => state === 'new')),
        notes: (document) => [sumText(document)],
        failure: (document, manifest) => missingError(document, manifest.next('--plan')),
      }),
  )
}

function sumText({ files, store }: RunPushDocument): string {
  const count = (wanted: string) => files.filter(({ state }) => state === wanted).length
  if (files.length === 0) return 'The lock names no files.'
  return `${counted(files.length, 'file')}: ${count('new')} new in ${store}, ${count('present')} already there`
}

const maxNamed = 20

function missingError({ files }: RunPushDocument, look: readonly string[]): ModelgateError | undefined {
  const missing = files.filter(({ state }) => state === 'missing').map(({ path }) => path)
  if (missing.length === 0) return undefined
  const which = counted(missing.length, 'file')
  const message = `The locked bytes of ${which} are not on this machine: ${firstFew(missing, maxNamed)}.`
  const hint = 'Push from the machine that has them. See how they stand here: '
  return new ModelgateError('outdated', 'not_up_to_date', message, {
    phase: 'result',
    billed: 'no',
    ...leadTo(hint, nextCommand(look)),
  })
}

export function registerRunPull(command: Command, context: Context, pull = pullOutputs): void {
  addExamples(command, [
    ['modelgate run pull --from s3://assets/shop', 'in a clean checkout, without a key of the gateway'],
    ['modelgate run pull --from https://assets.example/shop', 'where run push has put them'],
  ])
  command.requiredOption('--from <place>', 'a folder, s3://bucket/prefix, or the address of a web server')
  const shared = 'jsonl githubOutput caFile allowHttp'
  takeManifest(command, shared, meanings).action(async (options: ManifestOptions & { from: string }) => {
    const call = await startCall(context, options)
    await showRun(call, async (manifest, output) => {
      output.event({ type: 'start', version: outputVersion, command: 'run pull', model: null })
      // That of a signed address is a secret, and an error may name the call to make again.
      call.gate.hide(URL.parse(options.from)?.search.slice(1) ?? '')
      const source = await openByteSource(context, options.from, await storeNetwork(call))
      return await pull({ ...manifest, listener: output }, source)
    })
  })
}
