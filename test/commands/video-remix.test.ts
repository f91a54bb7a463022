import { beforeEach, expect, test } from 'vitest'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import type { TestOverrides } from '../support/test-context.ts'
import { videoCall, videoRefusal } from '../support/video-call.ts'

let cwd = ''
beforeEach(() => {
  cwd = temporaryFolder()
  writeFiles(cwd, { 'words.txt': 'from a file\n' })
})

const remix = (argv: readonly string[], more: TestOverrides = {}) =>
  videoCall(['remix', '-m', 'sora-2', ...argv], { cwd, ...more })

test.each(['video_1', '--last'])(
  'behind the id, or --last, every word belongs to the prompt: %s',
  async (id) => {
    const body = { model: 'sora-2', prompt: 'Make it night' }
    expect(await remix([id, 'Make', 'it', 'night'])).toMatchObject({
      source: id === '--last' ? undefined : id,
      request: { kind: 'video', count: 1, body },
    })
  },
)

test.each<[string, readonly string[], TestOverrides, string]>([
  ['is a file', ['video_1', '@words.txt'], {}, 'from a file\n'],
  ['is standard input', ['video_1', '-'], { stdin: 'piped' }, 'piped'],
  ['is a pipe', ['video_1'], { stdin: 'piped' }, 'piped'],
  ['is a pipe with --last', ['--last'], { stdin: 'piped' }, 'piped'],
  ['is of --body', ['video_1', '--body', '{"prompt":"body"}'], {}, 'body'],
  ['of words outranks --body', ['video_1', '--body', '{"prompt":"body"}', 'words'], {}, 'words'],
  ['of --set outranks all', ['video_1', '--set', 'prompt="set"', 'words'], {}, 'set'],
])('the prompt %s', async (_, argv, more, prompt) => {
  const { request } = await remix(argv, more)
  expect(request.body).toEqual({ model: 'sora-2', prompt })
})

test.each<[string, readonly string[], TestOverrides, string]>([
  ['no video', [], {}, 'usage'],
  ['an empty id', ['', 'words'], {}, 'usage'],
  ['no prompt', ['video_1'], {}, 'prompt_missing'],
  ['an empty prompt', ['video_1', ''], {}, 'prompt_missing'],
  ['a prompt that is too long', ['video_1', 'x'.repeat(32_001)], {}, 'invalid_request'],
])('%s is refused', async (_, argv, more, code) => {
  const refused = await videoRefusal(['remix', '-m', 'sora-2', ...argv], { cwd, ...more })
  expect(refused).toMatchObject({ exit: 2, code })
})

test('a model of another family is refused, and sent with --no-validate', async () => {
  const words = ['remix', '-m', 'gpt-image-2', 'video_1', 'Make it night']
  const lines = [expect.stringContaining('gpt-image-2') as string]
  expect(await videoRefusal(words, { cwd })).toMatchObject({ exit: 2, lines })
  expect((await videoCall([...words, '--no-validate'], { cwd })).request.model).toBe('gpt-image-2')
})
