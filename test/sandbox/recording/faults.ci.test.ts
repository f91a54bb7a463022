import { expect, test } from 'vitest'
import { recorder, recordingsIn, replayer } from '../../support/recorder.ts'
import { call, rawCall, runningSandbox, until } from '../../support/running-sandbox.ts'

const path = '/v1/responses'
const request = { input: 'Name a river', stream: true }

// All actions: `sandbox/faults/actions.test.ts`. These end a reply, hold it up, change it, and take its place.
test.each(['reset', 'cut', 'stall', 'drop-terminal', 'status', 'not-http'] as const)(
  'the fault %s on a recorder spoils no recording, and is played on a replay',
  async (action) => {
    const faults = [{ action, nth: 1, endpoint: 'responses' }] as const
    const gateway = await runningSandbox()
    const recording = await recorder(gateway.url, { faults })
    const faulty = rawCall(recording, path, request)
    await until(() => recording.firedFaults().length === 1 && (faulty.bytes !== '' || !faulty.isOpen))
    const { text } = await call(recording, path, request)
    const replaying = await replayer(recording.folder)
    const replays = []
    for (const _ of recordingsIn(recording.folder)) replays.push((await call(replaying, path, request)).text)
    expect(replays.at(-1)).toBe(text)
    expect(replays.every((replay) => /response\.completed[^]*\}\n\n$/.test(replay))).toBe(true)
    expect(recording.lines).toEqual([])
    const faultyReplay = await replayer(recording.folder, { faults })
    rawCall(faultyReplay, path, request)
    await until(() => faultyReplay.firedFaults().length === 1)
    expect((await call(faultyReplay, path, request)).text).toContain('response.completed')
  },
)
