import type { Measurement } from './measurement.ts'
import { hasCurl } from './peers.ts'
import { atMost, beside } from './ratio.ts'
import { shortContentStream, shortText } from './replies.ts'
import { timeInTurns } from './timing.ts'
import { baseline, modelgate, type Workbench } from './workbench.ts'

const bar = 1.15
const runs = 21
const model = 'bench-short'
const prompt = 'Name three rivers'

/** A whole `generate` of one short reply, against scripts and programs that get the same; what is compiled is kept. */
export function measureShortReply(workbench: Workbench): Measurement[] {
  const output = `${shortText}\n`
  const ours = { words: modelgate('generate', '-m', model, prompt), output }
  const against = (words: readonly string[], printed = output) =>
    timeInTurns(workbench, ours, { words, output: printed }, runs)
  const url = `${workbench.url}/v1beta/models/${model}:streamGenerateContent?alt=sse`
  const curl = ['curl', '-sN', '-H', 'content-type: application/json', '-d', '{}', url]
  return [
    atMost(
      'generate, short reply / bare node:http',
      against(baseline('bare-http', workbench.url, model, prompt)),
      bar,
    ),
    beside(
      'generate, short reply / @google/genai',
      against(baseline('genai-loop', workbench.url, model, prompt)),
    ),
    ...(hasCurl(workbench)
      ? [beside('generate, short reply / curl', against(curl, shortContentStream()))]
      : []),
  ]
}
