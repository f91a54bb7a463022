/**
 * Plays events through the output of the real process, for tests in a pseudo-terminal.
 * The argument is a JSON array of steps, see `Step`; a second one says what the command makes.
 */
import { once } from 'node:events'
import { systemContext } from '../../src/context.ts'
import type { OutputEvent } from '../../src/contract/text-event.ts'
import { GenerationError } from '../../src/errors.ts'
import { createOutput, type OutputOptions } from '../../src/output/create-output.ts'
import { sampleDocument, sampleVideoDocument } from './output-samples.ts'

export type Step =
  | OutputEvent
  /** `key` waits for a key to be pressed. */
  | { readonly type: 'flush' }
  | { readonly type: 'end' }
  | { readonly type: 'fail' }
  | { readonly type: 'key' }

const context = systemContext()
const result = (process.argv[3] ?? 'text') as NonNullable<OutputOptions['result']>
const output = createOutput(context, { quiet: false, usage: result === 'text', result })
for (const step of JSON.parse(process.argv[2]!) as Step[]) {
  if (step.type === 'key') await keyPress()
  else if (step.type === 'flush') await output.flush()
  else if (step.type === 'end') await output.end(result === 'text' ? sampleDocument : sampleVideoDocument)
  else if (step.type === 'fail') {
    const facts = { hint: 'Change the prompt.', requestId: 'req_1' }
    await output.error(new GenerationError('failed', 'The generation failed.', facts))
  } else output.event(step)
}

/** Unseen: the terminal does not echo it. */
async function keyPress(): Promise<void> {
  process.stdin.setRawMode(true)
  await once(process.stdin, 'data')
  process.stdin.setRawMode(false).pause()
}
