// Starts and follows a job with every file system call numbered, and does at one of them what it is told to.
// node job-child.ts FOLDER ACTION STEP, where ACTION is kill-before, kill-after, an error's code, or none.
// Prints each step that is done, and at the end {steps, errors, isOnRecord} as JSON.
import { writeSync } from 'node:fs'
import process from 'node:process'
import { ModelgateError } from '../../../src/errors.ts'
import { openJobStore } from '../../../src/files/jobs/job-store.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { hookFileSystem } from '../../support/fs-faults.ts'
import { newJob } from './job-samples.ts'

const [folder = '', action = 'none', step = '-1'] = process.argv.slice(2)
const steps: string[] = []
const errors: string[] = []

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
/** A command goes on when its record cannot be written. */
async function attempt<Value>(word: string, step: () => Promise<Value>): Promise<Value | undefined> {
  try {
    const value = await step()
    said(word)
    return value
  } catch (error) {
    errors.push(error instanceof ModelgateError ? error.code : `a bug: ${error}`)
    return undefined
  }
}

const job = await attempt('created', () => store.create(newJob({ idempotency_key: 'key-a' })))
await attempt('named', async () => job?.update({ id: 'video_1', state: 'pending' }))
await attempt('saved', async () => job?.update({ state: 'completed', files: ['/a.mp4'] }))
said(JSON.stringify({ steps, errors, isOnRecord: job !== undefined }))
