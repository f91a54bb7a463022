import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { ModelgateError } from '../errors.ts'
import type { RunPushDocument } from '../events/run-document.ts'
import { leadTo, nextCommand } from '../files/next-command.ts'
import { createGate } from '../output/gate.ts'
import { pushOutputs } from '../pipeline/changes/transfer.ts'
import { openSharedStore } from '../pipeline/store/shared-store.ts'
import { firstFew } from '../quantities.ts'
import { takeManifest, type ManifestOptions } from './run/manifest-command.ts'
import { storeNetwork } from './run/shared-places.ts'
import { pathLines, showDocument } from './run/show-document.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { readSettings } from './shared/gateway/open-gateway.ts'

interface PushOptions extends ManifestOptions {
  to: string
}

const runPushExamples: readonly Example[] = [
  ['modelgate run push --to s3://assets/shop', 'after a run, for those who have only the lock'],
  ['modelgate run push --to /srv/assets', 'a folder that a web server may serve'],
]

/** `modelgate run push`: puts what the lock names where others can fetch it. */
export function registerRunPush(command: Command, context: Context, push = pushOutputs): void {
  addExamples(command, runPushExamples)
  command.requiredOption('--to <place>', 'a folder, or s3://bucket/prefix')
  takeManifest(command, 'caFile allowHttp', {
    allowHttp: 'allow an http:// address of an S3 server on another host',
  })
  command.action(async (_: unknown, self: Command) => {
    const options = self.optsWithGlobals<PushOptions>()
    const settings = await readSettings(context, options)
    await showDocument(context, options, settings, {
      run: async (call) => {
        const network = await storeNetwork(context, options, settings, createGate(context))
        return await push(call, await openSharedStore(context, options.to, network))
      },
      result: ({ files }) => pathLines(files.filter(({ state }) => state === 'new')),
      notes: (document) => [sumText(document)],
      failure: (document, call) => missingError(document, call.next('--plan')),
    })
  })
}

function sumText({ files, store }: RunPushDocument): string {
  const count = (wanted: string) => files.filter(({ state }) => state === wanted).length
  if (files.length === 0) return 'The lock names no files.'
  const all = files.length === 1 ? '1 file' : `${files.length} files`
  return `${all}: ${count('new')} new in ${store}, ${count('present')} already there`
}

const maxNamed = 20

function missingError({ files }: RunPushDocument, look: readonly string[]): ModelgateError | undefined {
  const missing = files.filter(({ state }) => state === 'missing').map(({ path }) => path)
  if (missing.length === 0) return undefined
  const which =
    missing.length === 1
      ? 'The locked bytes of 1 file are'
      : `The locked bytes of ${missing.length} files are`
  const message = `${which} not on this machine: ${firstFew(missing, maxNamed)}.`
  const hint = 'Push from the machine that has them. See how they stand here: '
  return new ModelgateError('outdated', 'not_up_to_date', message, {
    phase: 'result',
    billed: 'no',
    ...leadTo(hint, nextCommand(look)),
  })
}
