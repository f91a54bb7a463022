import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { VideoEvent } from '../../src/events/video.ts'
import { sampleEvents } from '../support/output-samples.ts'
import type { Step } from '../support/play-output.ts'
import { runOnScreen, type ScreenOptions } from '../support/screen.ts'

const player = fileURLToPath(new URL('../support/play-output.ts', import.meta.url))

const key: Step = { type: 'key' }
const downloading: VideoEvent = {
  type: 'download-progress',
  id: 'video_1',
  index: 1,
  received: 500_000,
  total: 1_000_000,
}
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

test('Ctrl-C leaves nothing of the line, nor of the mark that the terminal makes of it', async () => {
  const type = [{ when: '40%', keys: '\u0003' }]
  const waiting: readonly Step[] = [sampleEvents['job-progress'], { type: 'interrupt' }]
  const { lines } = await runOnScreen(player, [JSON.stringify(waiting), 'files'], { type })
  expect(lines).toEqual(['modelgate: Stopped.'])
})

/** Three jobs, as `wait` shows them: the last line is that of the download, whose progress is waited for. */
const boardIds = ['video_zzzz', 'video_1234567890abcdef', 'models/veo/operations/aaaabbbbcccc1']
const last = { id: boardIds[2]! }
const board: readonly Step[] = [
  { ...sampleEvents.start, command: 'wait' },
  { ...sampleEvents['job-progress'], ...last, state: 'completed', progress: null },
  { ...sampleEvents['job-progress'], id: 'video_1234567890abcdef' },
  { ...downloading, ...last },
  key,
  { ...sampleEvents['video-save'], id: 'video_1234567890abcdef' },
  { ...sampleEvents['job-progress'], id: 'video_1234567890abcdef', state: 'completed', progress: 100 },
  { ...sampleEvents['job-progress'], id: 'video_zzzz', state: 'failed', status: 'failed', progress: null },
  { ...sampleEvents['job-fail'], id: 'video_zzzz' },
  { ...downloading, ...last, received: 950_000 },
  key,
  { type: 'end' },
]

async function playBoard(options: ScreenOptions, whens: readonly (string | RegExp)[] = ['50%', '95%']) {
  const type = whens.map((when) => ({ when, keys: ' ' }))
  const args = [JSON.stringify(board), 'files', JSON.stringify(boardIds)]
  const result = await runOnScreen(player, args, { type, ...options, env: { NO_COLOR: '1' } })
  expect(result.exitCode).toBe(0)
  // The bar of a job that was not looked up yet moves, and speeds depend on the machine.
  const still = (line: string) =>
    line.replace(/[█░]+(?=.*(looking up|\/s))/, '(bar)').replace(/(?<=of 1\.0 MB).*/, '')
  return [...result.screens, result.lines].map((lines) => timeless(lines).map(still))
}

test('several jobs have a line each, at 80 columns', async () => {
  expect(await playBoard({ columns: 80 })).toMatchInlineSnapshot(`
    [
      [
        "video_zzzz    (bar)  looking up",
        "video_123456  ███████████░░░░░░░░░░░░░░░░░   40%  in_progress  m:ss  ~m:ss left",
        "aaaabbbbcccc  ██████████████░░░░░░░░░░░░░░   50%  downloading  500 kB of 1.0 MB",
      ],
      [
        "video 1: 1280x720 mp4, 4 s, 8 bytes",
        "a.mp4",
        "job video_zzzz: It was filtered.",
        "video_zzzz    failed  m:ss",
        "video_123456  completed  m:ss",
        "aaaabbbbcccc  (bar)   95%  downloading  950 kB of 1.0 MB",
      ],
      [
        "video 1: 1280x720 mp4, 4 s, 8 bytes",
        "a.mp4",
        "job video_zzzz: It was filtered.",
      ],
    ]
  `)
})

test('a job whose video has arrived is completed', async () => {
  const steps: readonly Step[] = [
    { ...sampleEvents['job-progress'], ...last, state: 'completed', progress: null },
    { ...downloading, ...last, received: 1_000_000 },
    { ...sampleEvents['video-save'], ...last },
    { ...sampleEvents['job-progress'], id: 'video_zzzz', progress: 70 },
    { ...sampleEvents['job-progress'], id: 'video_1234567890abcdef', progress: 80 },
    key,
    { type: 'end' },
  ]
  const args = [JSON.stringify(steps), 'files', JSON.stringify(boardIds)]
  // The last frame, whole: the one with the progress of another job.
  const type = [{ when: /70%[^]*completed {2}\S+\u001b\[J/, keys: ' ' }]
  const { screens } = await runOnScreen(player, args, { type, env: { NO_COLOR: '1' } })
  expect(timeless(screens[0]!).at(-1)).toBe('aaaabbbbcccc  completed  m:ss')
})

test('of more jobs than the terminal has rows those that run are shown', async () => {
  // The second screen is that of the last frame: two have ended in earlier ones.
  expect(await playBoard({ columns: 80, rows: 3 }, ['0 ended', /95%[^]*2 ended/])).toMatchInlineSnapshot(`
    [
      [
        "video_zzzz    (bar)  looking up",
        "2 more, 0 ended",
      ],
      [
        "video 1: 1280x720 mp4, 4 s, 8 bytes",
        "a.mp4",
        "job video_zzzz: It was filtered.",
        "aaaabbbbcccc  (bar)   95%  downloading  950 kB of 1.0 MB",
        "2 more, 2 ended",
      ],
      [
        "video 1: 1280x720 mp4, 4 s, 8 bytes",
        "a.mp4",
        "job video_zzzz: It was filtered.",
      ],
    ]
  `)
})

test('what is drawn again is drawn over, not erased first', async () => {
  const args = [JSON.stringify(board.filter((step) => step !== key)), 'files', JSON.stringify(boardIds)]
  const { bytes } = await runOnScreen(player, args, { env: { NO_COLOR: '1' } })
  const drawings = bytes.split('\r').filter((part) => part.includes('░'))
  expect(drawings.length).toBeGreaterThan(0)
  // Erasing only ever follows what has been drawn on the line.
  for (const drawing of drawings) expect(drawing).toMatch(/^\n?[^\u001b]+\u001b\[[JK]$/)
})
