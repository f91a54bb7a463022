// Starts and follows a job with every file system call numbered, and does at one of them what it is told to.
// node job-child.ts FOLDER ACTION STEP, where ACTION is kill-before, kill-after, an error's code, or none.
// Prints each step that is done, and at the end {steps, errors} as JSON.
import { writeSync } from 'node:fs'
import process from 'node:process'
import { ModelgateError } from '../../../src/errors.ts'
import { openJobStore } from '../../../src/files/jobs/job-store.ts'
import { keepRecord } from '../../../src/files/jobs/keep-record.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { hookFileSystem } from '../../support/fs-faults.ts'
import { newJob } from './job-samples.ts'

const [folder = '', action = 'none', step = '-1'] = process.argv.slice(2)
const steps: string[] = []
const warnings: string[] = []

await hookFileSystem(async (name, call) => {
  const isChosen = steps.push(name) - 1 === Number(step)
  if (!isChosen) return await call()
  if (action === 'kill-before') process.kill(process.pid, 'SIGKILL')
  if (action === 'kill-after' || name === 'handle.close') await call().catch(() => {})
  if (action === 'kill-after') process.kill(process.pid, 'SIGKILL')
  throw Object.assign(new Error(`${action}: injected`), { code: action })
})

const said = (word: string) => void writeSync(1, `${word}\n`)
const clock = fakeClock()
const store = openJobStore(folder, clock)
try {
  const warn = (message: string) => void warnings.push(message)
  const job = await keepRecord(store, newJob({ idempotency_key: 'key-a' }), { now: clock.now() / 1000, warn })
  said('created')
  await job.update({ id: 'video_1', state: 'pending' })
  said('named')
  await job.update({ state: 'completed', files: ['/a.mp4'] })
  said('saved')
} catch (error) {
  warnings.push(error instanceof ModelgateError ? error.code : `a bug: ${error}`)
}
said(JSON.stringify({ steps, warnings }))
