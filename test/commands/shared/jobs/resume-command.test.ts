import { expect, test } from 'vitest'
import { resumeCommand } from '../../../../src/commands/shared/jobs/resume-command.ts'
import type { VideoOptions } from '../../../../src/commands/video.ts'

function command(options: Partial<VideoOptions>, names: Record<string, string> = {}, isStart = false) {
  const all = { validate: true, stdin: true, ...options }
  return resumeCommand({ program: 'modelgate' }, all, new Map(Object.entries(names)), isStart)
}

test.each<[string, Partial<VideoOptions>, string]>([
  ['video_1', {}, 'modelgate wait video_1'],
  ['models/m/operations/1', { sandbox: true }, 'modelgate wait --sandbox models/m/operations/1'],
  ["it's; rm -rf", { profile: 'at work' }, "modelgate wait --profile 'at work' 'it'\\''s; rm -rf'"],
  ['video_1', { baseUrl: 'http://a/' }, 'modelgate wait --base-url http://a/ video_1'],
  [
    'video_1',
    { apiKeyFile: 'key', caFile: 'ca.pem', allowHttp: true },
    'modelgate wait --api-key-file key --ca-file ca.pem --allow-http video_1',
  ],
  [
    'video_1',
    { output: 'a b.mp4', force: true, allowPrivateUrls: true },
    "modelgate wait -o 'a b.mp4' --force --allow-private-urls video_1",
  ],
  ['-abc', {}, 'modelgate wait -- -abc'],
])('the command that resumes %s', (id, options, expected) => {
  expect(command(options)([id]).toString()).toBe(expected)
})

test('the words of a command are not quoted', () => {
  expect(command({})(["it's", '-b']).words).toEqual(['modelgate', 'wait', '--', "it's", '-b'])
})

test('a job on record knows more, and several go on together', () => {
  const names = { 'models/m/operations/abc': 'abc', video_123456789: 'video_1234' }
  const resume = (isStart: boolean, ...ids: string[]) =>
    command({ sandbox: true, output: 'x.mp4', force: true }, names, isStart)(ids).toString()
  expect(resume(true, 'models/m/operations/abc')).toBe('modelgate wait abc')
  expect(resume(false, ...Object.keys(names))).toBe('modelgate wait -o x.mp4 --force abc video_1234')
  expect(resume(true, 'video_123456789', 'video_other')).toBe(
    'modelgate wait --sandbox -o x.mp4 --force video_1234 video_other',
  )
})
