import { expect, test } from 'vitest'
import { faultActionNames } from '../../../src/sandbox/faults/actions.ts'
import { recorder, recordingsIn, replayer } from '../../support/recorder.ts'
import { call, rawCall, runningSandbox, until } from '../../support/running-sandbox.ts'

const path = '/v1/responses'
const request = { input: 'Name a river', stream: true }

test.each(faultActionNames)(
  'the fault %s is played on a replay, and the next request is answered',
  async (action) => {
    const gateway = await runningSandbox()
    const recording = await recorder(gateway.url)
    const { text } = await call(recording, path, request)
    const faults = [{ action, nth: 1, endpoint: 'responses' }] as const
    const replaying = await replayer(recording.folder, { faults })
    rawCall(replaying, path, request)
    await until(() => replaying.firedFaults().length === 1)
    expect((await call(replaying, path, request)).text).toBe(text)
  },
)

test.each(faultActionNames)('the fault %s on a recorder spoils no recording', async (action) => {
  const gateway = await runningSandbox()
  const recording = await recorder(gateway.url, { faults: [{ action, nth: 1, endpoint: 'responses' }] })
  const faulty = rawCall(recording, path, request)
  await until(() => recording.firedFaults().length === 1 && (faulty.bytes !== '' || !faulty.isOpen))
  const { text } = await call(recording, path, request)
  const replaying = await replayer(recording.folder)
  const replays = []
  for (const _ of recordingsIn(recording.folder)) replays.push((await call(replaying, path, request)).text)
  expect(replays.at(-1)).toBe(text)
  expect(replays.every((replay) => replay.endsWith('}\n\n') && replay.includes('response.completed'))).toBe(
    true,
  )
  expect(recording.lines).toEqual([])
})
