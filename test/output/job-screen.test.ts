import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { VideoEvent } from '../../src/events/video.ts'
import { sampleEvents } from '../support/output-samples.ts'
import type { Step } from '../support/play-output.ts'
import { runOnScreen, type ScreenOptions } from '../support/screen.ts'

const player = fileURLToPath(new URL('../support/play-output.ts', import.meta.url))

const key: Step = { type: 'key' }
const downloading: VideoEvent = { type: 'download-progress', index: 1, received: 500_000, total: 1_000_000 }
const steps: readonly Step[] = [
  sampleEvents.start,
  sampleEvents['job-create'],
  sampleEvents['job-progress'],
  key,
  sampleEvents['poll-fail'],
  { ...sampleEvents['job-progress'], progress: null, state: 'completed', remaining_s: null },
  downloading,
  key,
  sampleEvents['video-save'],
  { type: 'end' },
]

/** Times go on while the test runs. */
const timeless = (lines: readonly string[]) => lines.map((line) => line.replaceAll(/\d:\d\d/g, 'm:ss'))

async function play(options: ScreenOptions) {
  const type = [
    { when: '40%', keys: ' ' },
    { when: '50%', keys: ' ' },
  ]
  const result = await runOnScreen(player, [JSON.stringify(steps), 'files'], { type, ...options })
  expect(result.exitCode).toBe(0)
  return [...result.screens, result.lines].map(timeless)
}

test('at 80 columns the line is below the notices, and is gone at the end', async () => {
  expect(await play({ columns: 80 })).toMatchInlineSnapshot(`
    [
      [
        "job video_1 started; resume with: modelgate video wait video_1",
        "████████████░░░░░░░░░░░░░░░░░░   40%  in_progress  m:ss  ~m:ss left  video_1",
      ],
      [
        "job video_1 started; resume with: modelgate video wait video_1",
        "look-up failed, next in 3 s: bad gateway (HTTP 502)",
        "███████████████░░░░░░░░░░░░░░░   50%  downloading  500 kB of 1.0 MB",
      ],
      [
        "job video_1 started; resume with: modelgate video wait video_1",
        "look-up failed, next in 3 s: bad gateway (HTTP 502)",
        "video 1: 1280x720 mp4, 4 s, 8 bytes",
        "a.mp4",
      ],
    ]
  `)
})

test('at 40 columns the line keeps what matters most', async () => {
  expect(await play({ columns: 40 })).toMatchInlineSnapshot(`
    [
      [
        "job video_1 started; resume with: modelg",
        "ate video wait video_1",
        "██████░░░░░░░░░   40%  m:ss  ~m:ss left",
      ],
      [
        "job video_1 started; resume with: modelg",
        "ate video wait video_1",
        "look-up failed, next in 3 s: bad gateway",
        " (HTTP 502)",
        "███████░░░░░░░░   50%  500 kB of 1.0 MB",
      ],
      [
        "job video_1 started; resume with: modelg",
        "ate video wait video_1",
        "look-up failed, next in 3 s: bad gateway",
        " (HTTP 502)",
        "video 1: 1280x720 mp4, 4 s, 8 bytes",
        "a.mp4",
      ],
    ]
  `)
})

test('at 20 columns there is still a line', async () => {
  expect(await play({ columns: 20 })).toMatchInlineSnapshot(`
    [
      [
        "job video_1 started;",
        " resume with: modelg",
        "ate video wait video",
        "_1",
        "██░░░░░   40%  m:ss",
      ],
      [
        "job video_1 started;",
        " resume with: modelg",
        "ate video wait video",
        "_1",
        "look-up failed, next",
        " in 3 s: bad gateway",
        " (HTTP 502)",
        "██████░░░░░░░   50%",
      ],
      [
        "job video_1 started;",
        " resume with: modelg",
        "ate video wait video",
        "_1",
        "look-up failed, next",
        " in 3 s: bad gateway",
        " (HTTP 502)",
        "video 1: 1280x720 mp",
        "4, 4 s, 8 bytes",
        "a.mp4",
      ],
    ]
  `)
})

test('the bar is cyan and the rest dim; NO_COLOR turns both off and the bar stays', async () => {
  const type = [
    { when: '40%', keys: ' ' },
    { when: '50%', keys: ' ' },
  ]
  const args = [JSON.stringify(steps), 'files']
  const coloured = await runOnScreen(player, args, { type })
  expect(coloured.bytes).toMatch(/\u001b\[36m█+\u001b\[39m\u001b\[2m░+\u001b\[22m/)
  const plain = await runOnScreen(player, args, { type, env: { NO_COLOR: '1' } })
  expect(plain.bytes).toMatch(/█+░+/)
  // oxlint-disable-next-line no-control-regex -- colours are what must not be there
  expect(plain.bytes).not.toMatch(/\u001b\[\d+m/)
})

test.each([{ CI: 'true' }, { TERM: 'dumb' }])('a log has no control characters (%j)', async (env) => {
  const unwaited = steps.filter((step) => step !== key)
  const { bytes } = await runOnScreen(player, [JSON.stringify(unwaited), 'files'], {
    env: { NO_COLOR: '1', ...env },
  })
  // The terminal itself turns the end of a line into CR and LF.
  const text = bytes.replaceAll('\r\n', '\n')
  // oxlint-disable-next-line no-control-regex -- these are what must not be there
  expect(text).not.toMatch(/[\0-\t\u000b-\u001f\u007f]/)
  expect(text).toContain('job video_1: in_progress (gateway says "running"), 40%')
})

test('Ctrl-C leaves nothing of the line, nor of the mark that the terminal makes of it', async () => {
  const type = [{ when: '40%', keys: '\u0003' }]
  const waiting: readonly Step[] = [sampleEvents['job-progress'], { type: 'interrupt' }]
  const { lines } = await runOnScreen(player, [JSON.stringify(waiting), 'files'], { type })
  expect(lines).toEqual(['modelgate: Stopped.'])
})
