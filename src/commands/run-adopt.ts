import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { adoptJobs } from '../pipeline/changes/adopt.ts'
import { takeManifest, type ManifestOptions } from './run/manifest-command.ts'
import { showChange } from './run/show-document.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'

const runAdoptExamples: readonly Example[] = [
  ['modelgate run adopt hero', 'the file is right as it is'],
  ['modelgate run adopt "photos*"'],
]

/** `modelgate run adopt`: locks files that are there already. */
export function registerRunAdopt(command: Command, context: Context, adopt = adoptJobs): void {
  addExamples(command, runAdoptExamples)
  command.argument(
    '<job...>',
    'jobs whose present files become the locked outputs; "*" and "?" are wildcards',
  )
  takeManifest(command)
  command.action(async (jobs: string[], _: unknown, self: Command) =>
    showChange(
      context,
      self.optsWithGlobals<ManifestOptions>(),
      (call) => adopt(call, jobs),
      ({ instance }) => `${instance}: locked`,
    ),
  )
}
