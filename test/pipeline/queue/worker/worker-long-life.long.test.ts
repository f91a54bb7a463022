import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../../src/context.ts'
import { openSender } from '../../../../src/pipeline/queue/bullmq-delivery.ts'
import { encodeTask } from '../../../../src/pipeline/queue/encode-task.ts'
import { openDocuments } from '../../../../src/pipeline/queue/open-documents.ts'
import { readQueueUrl } from '../../../../src/pipeline/queue/queue-url.ts'
import { openRun, submit } from '../../../../src/pipeline/queue/submissions.ts'
import { projectOf } from '../../../../src/pipeline/project.ts'
import { spawnProgram } from '../../../black-box/spawn-program.ts'
import { instanceOf, textField } from '../../../support/pipeline-task.ts'
import { forTest, hasRedis, startRedis } from '../../../support/queue-servers.ts'
import { runningSandbox, until } from '../../../support/running-sandbox.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { amount } from '../../../support/sample.ts'

const jobs = amount({ quick: 0, ci: 6_000, full: 20_000 })
/** By then all code has been loaded, and the memory has its usual size. */
const warm = Math.min(4_000, jobs / 2)
const run = '20261122T120000000-0000abcd'

/** What the system knows of a process. */
function lookAt(pid: number) {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? []
  return { mebibytes: Number(kibibytes) / 1024, descriptors: readdirSync(`/proc/${pid}/fd`).length }
}

test.skipIf(!hasRedis || !existsSync('/proc/self/status'))(
  `a worker has after ${jobs} requests what it had before: memory, connections, files`,
  async () => {
    const server = await forTest(startRedis())
    const sandbox = await runningSandbox()
    const [store, state] = [temporaryFolder(), temporaryFolder()]
    const url = readQueueUrl(server.url)
    const documents = await openDocuments(url, 'modelgate', systemClock)
    const sender = await openSender(url, 'modelgate', systemClock)
    const lanes = { text: 16, image: 16, video: 16 }
    await openRun(documents, run, { lanes, creates: null, cost: null, jobs }, { creates: 0, cost: '0' })
    const parts = { upstream: new Map(), inputDigest: async () => '', project: projectOf('/m.yaml', false) }
    const submitSome = async (from: number, count: number) => {
      const all = Array.from({ length: count }, async (_, at) => {
        const fields = { prompt: textField(`Say ${from + at}`) }
        const instance = instanceOf({ command: 'generate', fields, output: 'a.txt' })
        const { message } = await encodeTask({ ...parts, instance })
        const key = (from + at).toString(16).padStart(64, '0')
        const attempt = randomBytes(16).toString('hex')
        const { id, lane, onUnknown } = instance
        const facts = { instance: id, lane, onUnknown, creates: 1, cost: null, job: null, message }
        return { ...facts, key, attempt, isFresh: false, isSentAgain: true }
      })
      const submissions = await Promise.all(all)
      await submit(documents, run, submissions)
      await sender.send(
        'text',
        submissions.map(({ key, attempt }) => ({ key, attempt, priority: 1 })),
      )
    }
    for (let from = 0; from < jobs; from += 500) await submitSome(from, Math.min(500, jobs - from))
    const worker = spawnProgram(
      ['run', 'worker', '--queue', server.url, '--store', store, '--lanes', 'text=16', '--quiet'],
      { env: { MODELGATE_BASE_URL: sandbox.url, MODELGATE_STATE_DIR: state, MODELGATE_HISTORY: 'off' } },
    )
    const made = (count: number) =>
      until(() => sandbox.created() >= count || worker.process.exitCode !== null)
    await made(warm)
    const before = lookAt(worker.process.pid!)
    await made(jobs)
    const after = lookAt(worker.process.pid!)
    const grown = after.mebibytes - before.mebibytes
    console.log(
      `${jobs} requests: ${before.mebibytes.toFixed(0)} MiB after ${warm}, ${after.mebibytes.toFixed(0)} MiB at the end`,
    )
    worker.process.kill('SIGTERM')
    const { exit, stderr } = await worker.ended
    await sender.close()
    await documents.close()
    // So many files take longer than the end of a test may.
    await rm(store, { recursive: true, force: true })
    expect([exit, stderr]).toEqual(['SIGTERM', expect.stringContaining('Terminated')])
    expect(sandbox.created()).toBe(jobs)
    expect(grown).toBeLessThan(30)
    expect(Math.abs(after.descriptors - before.descriptors)).toBeLessThanOrEqual(20)
    const workers = join(state, 'workers')
    expect(existsSync(workers) ? readdirSync(workers, { recursive: true }) : []).toEqual([])
  },
  1_800_000,
)
