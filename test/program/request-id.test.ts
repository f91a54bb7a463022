import { expect, test } from 'vitest'
import { localServer } from '../support/local-server.ts'
import { text } from '../support/server-replies.ts'
import { runMain } from '../support/run-main.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { maskPng } from '../support/test-images.ts'

// The reply may have been paid for: its id is what the operator of the gateway finds it by.
test.each([
  ['generate', 'hi'],
  ['respond', 'hi'],
  ['image', 'create', 'A hill'],
  ['image', 'edit', '--image', 'a.png', 'A hill'],
  ['video', 'generate', 'A hill'],
  ['video', 'remix', '--no-check', 'video_1', 'A hill'],
])('the error of a reply that cannot be read has the id of its request: %s %s', async (...words) => {
  for (const body of ['<html><body>Hello</body></html>', '{"unknown": true}']) {
    const headers = { 'content-type': 'application/json', 'x-request-id': 'req_7' }
    const server = await localServer([text(body, { headers })])
    const cwd = temporaryFolder()
    writeFiles(cwd, { 'a.png': await maskPng(64) })
    const env = {
      MODELGATE_BASE_URL: server.url,
      MODELGATE_API_KEY: 'k',
      MODELGATE_STATE_DIR: temporaryFolder(),
    }
    const { code, err } = await runMain([...words, '-m', 'm', '--json'], { cwd, env })
    const last = JSON.parse(err.trim().split('\n').at(-1)!) as { error: { request_id: string } }
    expect([code > 0, last.error.request_id]).toEqual([true, 'req_7'])
  }
})
