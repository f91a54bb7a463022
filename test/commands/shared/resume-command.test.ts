import { expect, test } from 'vitest'
import { resumeCommand } from '../../../src/commands/shared/resume-command.ts'
import type { VideoOptions } from '../../../src/commands/shared/video-command.ts'

const common = { validate: true, input: true, stdin: true } as const

test.each<[string, Partial<VideoOptions>, string]>([
  ['video_1', {}, 'modelgate video wait video_1'],
  ['models/m/operations/1', { sandbox: true }, 'modelgate video wait --sandbox models/m/operations/1'],
  ["it's; rm -rf", { profile: 'at work' }, "modelgate video wait --profile 'at work' 'it'\\''s; rm -rf'"],
  ['video_1', { baseUrl: 'http://a/' }, 'modelgate video wait --base-url http://a/ video_1'],
  ['-abc', {}, 'modelgate video wait -- -abc'],
])('the command that resumes %s', (id, options, command) => {
  expect(resumeCommand({ program: 'modelgate' }, { ...common, ...options })(id)).toBe(command)
})
