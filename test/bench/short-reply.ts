import { atMost, beside, type Measurement } from './measurement.ts'
import { hasCurl } from './peers.ts'
import { shortContentStream, shortText } from './replies.ts'
import { timeInTurns } from './timing.ts'
import { baseline, contentUrl, modelgate, type Workbench } from './workbench.ts'

const model = 'bench-short'
const prompt = 'Name three rivers'

/** A whole `generate` of one short reply, against scripts and programs that get the same; what is compiled is kept. */
export function measureShortReply(workbench: Workbench): Measurement[] {
  const output = `${shortText}\n`
  const ours = { words: modelgate('generate', '-m', model, prompt), output }
  const against = (words: readonly string[], printed = output) =>
    timeInTurns(workbench, ours, { words, output: printed }, 21)
  const script = (name: string) => against(baseline(name, workbench.url, model, prompt))
  const json = ['-H', 'content-type: application/json', '-d', '{}']
  const curl = ['curl', '-sN', ...json, contentUrl(workbench, model)]
  return [
    atMost('generate, short reply / bare node:http', script('bare-http'), 1.15),
    beside('generate, short reply / @google/genai', script('genai-loop')),
    ...(hasCurl(workbench)
      ? [beside('generate, short reply / curl', against(curl, shortContentStream()))]
      : []),
  ]
}
