/**
 * Measures the documents of a queue on servers of this machine: `node test/bench/document-stores.ts`. Each request takes one reading and two
 * transactions, and all of them change the same two documents.
 */
import { systemClock } from '../../src/context.ts'
import { openIntents, type Intents } from '../../src/pipeline/queue/intents.ts'
import { openDocuments } from '../../src/pipeline/queue/open-documents.ts'
import { readQueueUrl } from '../../src/pipeline/queue/queue-url.ts'
import { openRun, submit } from '../../src/pipeline/queue/submissions.ts'
import { done, keyOf, ref, run, submission } from '../pipeline/queue/queue-scene.ts'
import { queueServers, type QueueServer } from '../support/queue-servers.ts'
import { cpuSeconds } from './cpu-time.ts'

/** How many clients, and how many requests each has under way at once: those of one client share transactions. */
const shapes = [
  [1, 1],
  [1, 16],
  [8, 1],
  [8, 16],
  [64, 1],
] as const
const forMs = 3_000
/** More than any server ends in that time. */
const requests = 20_000
const atOnceSubmitted = 1_000

const unlimited = { text: 1_000_000, image: 1_000_000, video: 1_000_000 }

console.log('| server | clients | requests of each | requests/s | ms a request | server, CPU ms a request |')
console.log('| --- | --- | --- | --- | --- | --- |')
for (const { name, isThere, start } of queueServers) {
  if (!isThere) continue
  for (const [clients, atOnce] of shapes) {
    const server = await start()
    try {
      const { perSecond, ms, cpuMs } = await measure(server, clients, atOnce)
      const cells = [name, clients, atOnce, Math.round(perSecond), ms.toFixed(1), cpuMs.toFixed(2)]
      console.log(`| ${cells.join(' | ')} |`)
    } finally {
      await server.remove()
    }
  }
}

async function measure(server: QueueServer, clients: number, atOnce: number) {
  const url = readQueueUrl(server.url)
  const opened = await Promise.all(
    Array.from({ length: clients }, () => openDocuments(url, 'modelgate', systemClock)),
  )
  const [first] = opened
  const limits = { lanes: unlimited, creates: null, cost: null, jobs: requests }
  await openRun(first!, run, limits, { creates: 0, cost: '0' })
  for (let from = 0; from < requests; from += atOnceSubmitted) {
    const some = Array.from({ length: atOnceSubmitted }, (_, at) => submission(from + at))
    await submit(first!, run, some)
  }
  let [taken, ended] = [0, 0]
  let end = 0
  const work = async (intents: Intents) => {
    while (performance.now() < end) {
      if (taken === requests) throw new Error(`${requests} requests are too few for ${forMs} ms.`)
      const number = taken++
      const begun = await intents.begin({ key: keyOf(number), attempt: `attempt-${number}` })
      if (begun.kind !== 'send') throw new Error(`A request is to ${begun.kind}.`)
      await intents.end(ref(number), done)
      ended++
    }
  }
  const cpuBefore = cpuSeconds(process.pid) - ownCpu()
  const from = performance.now()
  end = from + forMs
  await Promise.all(
    opened.flatMap((documents, at) => {
      const intents = openIntents(documents, {
        worker: `worker-${at}`,
        rate: null,
        isSentAgain: true,
        random: Math.random,
        redact: (json) => json,
      })
      return Array.from({ length: atOnce }, () => work(intents))
    }),
  )
  const seconds = (performance.now() - from) / 1000
  const cpu = cpuSeconds(process.pid) - ownCpu() - cpuBefore
  await Promise.all(opened.map((documents) => documents.close()))
  return {
    perSecond: ended / seconds,
    ms: (seconds * 1000 * clients * atOnce) / ended,
    cpuMs: (cpu * 1000) / ended,
  }
}

/** Without the servers. */
function ownCpu(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
