import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { outputVersion } from '../events/version.ts'
import { pullOutputs } from '../pipeline/changes/transfer.ts'
import { openByteSource } from '../pipeline/store/shared-store.ts'
import { takeManifest, type ManifestOptions } from './run/manifest-command.ts'
import { storeNetwork } from './run/shared-places.ts'
import { showRun } from './run/show-run.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { readSettings } from './shared/gateway/open-gateway.ts'

interface PullOptions extends ManifestOptions {
  from: string
}

const runPullExamples: readonly Example[] = [
  ['modelgate run pull --from s3://assets/shop', 'in a clean checkout, without a key of the gateway'],
  ['modelgate run pull --from https://assets.example/shop', 'where run push has put them'],
]

/** `modelgate run pull`: restores what the lock names from where `run push` has put it. */
export function registerRunPull(command: Command, context: Context, pull = pullOutputs): void {
  addExamples(command, runPullExamples)
  command.requiredOption('--from <place>', 'a folder, s3://bucket/prefix, or the address of a web server')
  takeManifest(command, 'jsonl githubOutput caFile allowHttp', {
    allowHttp: 'allow an http:// address of an S3 server on another host',
  })
  command.action(async (_: unknown, self: Command) => {
    const options = self.optsWithGlobals<PullOptions>()
    const settings = await readSettings(context, options)
    await showRun(context, options, settings, {
      async run(call, gate, output) {
        output.event({ type: 'start', version: outputVersion, command: 'run pull', model: null })
        // That of a signed address is a secret, and an error may name the call to make again.
        gate.hide(URL.parse(options.from)?.search.slice(1) ?? '')
        const network = await storeNetwork(context, options, settings, gate)
        const source = await openByteSource(context, options.from, network)
        return await pull({ ...call, listener: output }, source)
      },
      hasSent: () => false,
    })
  })
}
