import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { pickCandidate } from '../pipeline/changes/pick.ts'
import { readNumber, takeManifest, type ManifestOptions } from './run/manifest-command.ts'
import { showChange } from './run/show-document.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'

const runPickExamples: readonly Example[] = [
  ['modelgate run report', 'shows the candidates side by side'],
  ['modelgate run pick hero 2'],
]

/** `modelgate run pick`: makes a candidate the output. */
export function registerRunPick(command: Command, context: Context, pick = pickCandidate): void {
  addExamples(command, runPickExamples)
  command
    .argument('<job>', 'a job, or an instance such as photos[shoe]')
    .argument('<number>', 'number of the candidate, from 1')
  takeManifest(command)
  command.action(async (job: string, number: string, _: unknown, self: Command) => {
    const variant = readNumber(number, 'candidate')
    await showChange(
      context,
      self.optsWithGlobals<ManifestOptions>(),
      (call) => pick(call, job, variant),
      ({ instance }) => `${instance}: candidate ${variant} is the output`,
    )
  })
}
