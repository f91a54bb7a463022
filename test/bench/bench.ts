/**
 * Measures the program against baselines in the same run: `npm run bench`. `-- --only NAME` measures one group, `-- --json
 * FILE` keeps every single run, `-- --write` makes docs/performance.md. Ends with 1 when a bar is missed.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { measureImages, measureVideo } from './images.ts'
import { measureLog } from './log.ts'
import { measureLongLife } from './long-life.ts'
import {
  measureLatency,
  measureLongStreams,
  measureMarkdown,
  measureRawStream,
  measureVariants,
} from './long-stream.ts'
import { measureManyAssets } from './many-assets.ts'
import { tableOf, type Measurement } from './measurement.ts'
import { measurePeers } from './peers.ts'
import { machineFacts, performancePage } from './performance-page.ts'
import { measureQueue } from './queue.ts'
import { measureShortReply } from './short-reply.ts'
import { measureExecutable, measureStartup } from './startup.ts'
import { withWorkbench, type Workbench } from './workbench.ts'

type Measure = (workbench: Workbench) => readonly Measurement[] | Promise<readonly Measurement[]>

/** Each becomes a section of the page. */
const groups: Readonly<Record<string, readonly Measure[]>> = {
  'Start-up': [measureStartup, measurePeers, measureExecutable],
  'Short replies': [measureShortReply],
  'Long streams': [measureLongStreams, measureVariants, measureRawStream, measureMarkdown, measureLatency],
  'Images and videos': [measureImages, measureVideo],
  'The log': [measureLog],
  Pipelines: [measureManyAssets, measureQueue],
  'Long life': [measureLongLife],
}

const { values } = parseArgs({
  options: { json: { type: 'string' }, only: { type: 'string' }, write: { type: 'boolean' } },
})
const chosen = Object.entries(groups).filter(([name]) => (values.only ?? name) === name)
if (chosen.length === 0) throw new Error(`--only takes one of: ${Object.keys(groups).join(', ')}`)
// Before anything runs: the load of this run would be in it.
const facts = machineFacts()

await withWorkbench(async (workbench) => {
  const sections: [name: string, measurements: Measurement[]][] = []
  for (const [name, group] of chosen) {
    const measurements: Measurement[] = []
    for (const measure of group) measurements.push(...(await measure(workbench)))
    sections.push([name, measurements])
    // A whole run takes more than half an hour: what has been measured is shown.
    console.log(tableOf(measurements))
  }
  const all = sections.flatMap(([, measurements]) => measurements)
  console.log(workbench.skipped.join('\n'))
  if (values.json !== undefined) {
    const { skipped } = workbench
    writeFileSync(values.json, `${JSON.stringify({ ...facts, skipped, measurements: all }, undefined, 2)}\n`)
  }
  if (values.write === true) {
    const page = new URL('../../docs/performance.md', import.meta.url)
    writeFileSync(page, performancePage(sections, facts, workbench.skipped))
  }
  if (all.some(({ isMet }) => !isMet)) process.exitCode = 1
})
