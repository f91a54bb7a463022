/**
 * Measures the program against baselines in the same run: `npm run bench`, `npm run bench -- --json FILE`.
 * Ends with 1 when a bar is missed.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { measureExecutable } from './executable.ts'
import { measureImages } from './images.ts'
import { measureLatency } from './latency.ts'
import { measureLog } from './log.ts'
import { measureLongStreams, measureMarkdown } from './long-stream.ts'
import { measureManyAssets } from './many-assets.ts'
import { tableOf, type Measurement } from './measurement.ts'
import { measureShortReply } from './short-reply.ts'
import { measureStartup } from './startup.ts'
import { measureVideo } from './video.ts'
import { withWorkbench } from './workbench.ts'

const { values } = parseArgs({ options: { json: { type: 'string' } } })

await withWorkbench(async (workbench) => {
  const measurements: Measurement[] = [
    ...measureStartup(workbench),
    ...measureExecutable(workbench),
    measureShortReply(workbench),
    ...measureLongStreams(workbench),
    await measureMarkdown(workbench),
    ...(await measureLatency(workbench)),
    ...measureImages(workbench),
    measureVideo(workbench),
    ...measureLog(workbench),
    ...(await measureManyAssets(workbench)),
  ]
  console.log(tableOf(measurements))
  if (values.json !== undefined) {
    writeFileSync(values.json, `${JSON.stringify({ node: process.version, measurements }, undefined, 2)}\n`)
  }
  if (measurements.some(({ isMet }) => !isMet)) process.exitCode = 1
})
