import { expect, test } from 'vitest'
import { text } from '../support/server-replies.ts'
import { writeFiles } from '../support/temporary-folder.ts'
import { red } from './images/replies.ts'
import { answeredBy } from './workspace.ts'

// The reply may have been paid for: its id is what the operator of the gateway finds it by.
test.each([
  'generate hi',
  'respond hi',
  'image create hill',
  'image edit --image a.png hill',
  'video generate hill',
  'video remix --no-check video_1 hill',
])('the error of a reply that cannot be read has the id of its request: %s', async (words) => {
  for (const body of ['<html><body>Hello</body></html>', '{"unknown": true}']) {
    const headers = { 'content-type': 'application/json', 'x-request-id': 'req_7' }
    const { run, cwd } = await answeredBy().given(text(body, { headers }))
    writeFiles(cwd, { 'a.png': red })
    const { code, err } = await run([...words.split(' '), '-m', 'm', '--json'])
    const { error } = JSON.parse(err.trim().split('\n').at(-1)!)
    expect([code > 0, error.request_id]).toEqual([true, 'req_7'])
  }
})
