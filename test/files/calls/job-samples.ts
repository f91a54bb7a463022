import type { NewJob } from '../../../src/files/calls/job-record.ts'

/** A job that is about to be sent; each has a key of its own. */
export function newJob(overrides: Partial<NewJob> = {}): NewJob {
  return {
    kind: 'video',
    command: 'video generate',
    model: 'video-model',
    base_url: 'https://gateway.example/v1',
    is_sandbox: false,
    request: { seconds: '4' },
    idempotency_key: `key-${++count}`,
    output: { output: 'boat.mp4', folder: null, force: false, cwd: '/project' },
    ...overrides,
  }
}

let count = 0

/** Where the sample was typed. */
export const anyPlace = { terminalId: undefined, cwd: '/project' }
