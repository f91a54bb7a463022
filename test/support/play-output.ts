/**
 * Plays events through the output of the real process, for tests in a pseudo-terminal.
 * The argument is a JSON array of steps, see `Step`; a second one says what the command makes, a third
 * one lists the jobs of a board.
 */
import { once } from 'node:events'
import { systemContext } from '../../src/context.ts'
import type { OutputEvent } from '../../src/events/documents.ts'
import { GenerationError, type ModelgateError } from '../../src/errors.ts'
import { createOutput, loadMarkdown, type OutputOptions } from '../../src/output/create-output.ts'
import { loadColours } from '../../src/output/screen.ts'
import { sampleDocument, sampleVideoDocument } from './output-samples.ts'

export type Step =
  | OutputEvent
  /** `key` waits for a key to be pressed. */
  | { readonly type: 'flush' }
  | { readonly type: 'end' }
  | { readonly type: 'fail' }
  | { readonly type: 'key' }
  /** Waits for Ctrl-C, and ends with it. */
  | { readonly type: 'interrupt' }

const context = systemContext()
const result = (process.argv[3] ?? 'text') as NonNullable<OutputOptions['result']>
const resume = (id: string) => `modelgate wait ${id}`
const jobs = process.argv[4] === undefined ? {} : { jobs: JSON.parse(process.argv[4]) as string[] }
const markdown = result === 'text' ? await loadMarkdown(context, 'auto') : undefined
await loadColours(context)
const output = createOutput(context, {
  quiet: false,
  usage: result === 'text',
  result,
  resume,
  markdown: process.env['RENDER'] === undefined ? undefined : markdown,
  ...jobs,
})
const steps = JSON.parse(process.argv[2]!) as Step[]
const usesKeys = steps.some((step) => step.type === 'key')
let pressed = 0
// From the start, so that no key is shown or lost, however soon it comes.
if (usesKeys) process.stdin.setRawMode(true).on('data', () => pressed++)
for (const step of steps) {
  if (step.type === 'key') await keyPress()
  else if (step.type === 'interrupt') await output.error(await interruption())
  else if (step.type === 'flush') await output.flush()
  else if (step.type === 'end') await output.end(result === 'text' ? sampleDocument : sampleVideoDocument)
  else if (step.type === 'fail') {
    const facts = { hint: 'Change the prompt.', requestId: 'req_1' }
    await output.error(new GenerationError('generation_failed', 'The generation failed.', facts))
  } else output.event(step)
}

if (usesKeys) process.stdin.setRawMode(false).pause()

async function interruption(): Promise<ModelgateError> {
  // Something must keep the process alive, as the next look-up would.
  const waiting = context.clock.timer(60_000, () => {})
  // The key may have been pressed before anybody looked.
  if (!context.signal.aborted) await once(context.signal, 'abort')
  waiting.cancel()
  return context.signal.reason as ModelgateError
}

async function keyPress(): Promise<void> {
  while (pressed === 0) await once(process.stdin, 'data')
  pressed--
}
