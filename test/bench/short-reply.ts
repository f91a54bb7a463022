import type { Measurement } from './measurement.ts'
import { atMost } from './ratio.ts'
import { shortText } from './replies.ts'
import { timeInTurns } from './timing.ts'
import { baseline as words, modelgate, type Workbench } from './workbench.ts'

const bar = 1.35

/** A whole `generate` of one short reply, against a bare script that does the same; the compile cache is warm. */
export function measureShortReply(workbench: Workbench): Measurement {
  const output = `${shortText}\n`
  const runs = timeInTurns(
    workbench,
    { words: modelgate('generate', '-m', 'bench-short', 'Name three rivers'), output },
    { words: words('bare-http', workbench.url, 'bench-short', 'Name three rivers'), output },
    21,
  )
  return atMost('generate, short reply / bare node:http', runs, bar)
}
