import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GenerationError } from '../../src/errors.ts'
import type { OutputEvent } from '../../src/events/documents.ts'
import { createOutput, type OutputOptions } from '../../src/output/create-output.ts'
import { absolutePath, openStepOutput } from '../../src/output/step-output.ts'
import { sampleDocument, sampleEvents, textDelta } from '../support/output-samples.ts'
import { runMain } from '../support/run-main.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

/** Reads the file as the runner does. */
function outputsIn(file: string): Record<string, string> {
  const outputs: Record<string, string> = {}
  const lines = readFileSync(file, 'utf8').split('\n')
  for (let at = 0; at < lines.length - 1; at++) {
    const [, name, delimiter] = /^([\w-]+)<<(ghadelimiter_[0-9a-f]{32})$/.exec(lines[at]!)!
    const end = lines.indexOf(delimiter!, at)
    outputs[name!] = lines.slice(at + 1, end).join('\n')
    at = end
  }
  return outputs
}

/** A step of a job, whose folders have spaces and letters of all kinds in their names. */
function step() {
  const cwd = join(temporaryFolder(), 'my שלום 船')
  const file = join(cwd, 'out put')
  writeFiles(cwd, { 'out put': '' })
  const env = { GITHUB_ACTIONS: 'true', GITHUB_OUTPUT: file, MODELGATE_STATE_DIR: join(cwd, 'state') }
  return { cwd, file, env, context: testContext({ cwd, env }) }
}

/** Runs a call in the step, against a sandbox that answers at once. */
async function run({ cwd, file, env }: ReturnType<typeof step>, words: readonly string[]) {
  const { url } = await runningSandbox()
  const models = {
    MODELGATE_TEXT_MODEL: 'm',
    MODELGATE_IMAGE_MODEL: 'gpt-image-2',
    MODELGATE_VIDEO_MODEL: 'veo',
  }
  const ended = await runMain(words, {
    cwd,
    env: { ...env, ...models, MODELGATE_BASE_URL: url, MODELGATE_API_KEY: 'key' },
  })
  return { ...ended, outputs: outputsIn(file) }
}

function rendered(place: ReturnType<typeof step>, name: string, options: Partial<OutputOptions> = {}) {
  const opened = openStepOutput(place.context, name)
  return createOutput(place.context, { quiet: true, usage: false, step: opened, ...options })
}

test('the output has the text, and nothing is on standard output', async () => {
  const { code, out, outputs } = await run(step(), ['generate', '--github-output', 'answer', 'Hi'])
  expect([code, out]).toEqual([0, ''])
  expect(outputs).toEqual({ answer: expect.stringMatching(/sandbox/i) })
})

test('the output has the absolute path of each file', async () => {
  const place = step()
  const words = ['-n', '2', '-o', 'a b.png', '--github-output', 'images', 'A hill']
  const { code, out, outputs } = await run(place, ['image', 'create', ...words])
  expect([code, out]).toEqual([0, ''])
  const paths = ['a b-1.png', 'a b-2.png'].map((name) => join(place.cwd, name))
  expect(outputs).toEqual({ images: paths.join('\n') })
})

test('the output has the document with --json, in one line', async () => {
  const { outputs } = await run(step(), ['generate', '--json', '--github-output', 'reply', 'Hi'])
  expect(JSON.parse(outputs['reply']!)).toMatchObject({ command: 'generate', finish_reason: 'stop' })
  expect(outputs['reply']).not.toContain('\n')
})

test('the output has the path of the file that -o names', async () => {
  const place = step()
  const words = ['generate', '-o', 'סיכום.md', '--github-output', 'file', 'Hi']
  expect(await run(place, words)).toMatchObject({ code: 0, outputs: { file: join(place.cwd, 'סיכום.md') } })
})

test('the output has the id of a job that goes on', async () => {
  const words = ['video', 'generate', '--no-wait', '--github-output', 'job', 'A hill']
  const { code, outputs } = await run(step(), words)
  expect([code, outputs['job']]).toEqual([0, expect.stringMatching(/^models\/.+\/operations\/\S+$/)])
})

test('no text can end the output and begin another', async () => {
  const place = step()
  const output = rendered(place, 'answer')
  const text = 'EOF\nghadelimiter_0\nevil=1\nevil<<X\r\nY\n  \n::set-output name=a::b\n船\u202e\n\n'
  output.event(textDelta(text))
  await output.end({ ...sampleDocument, text })
  expect(outputsIn(place.file)).toEqual({ answer: text.slice(0, -1) })
})

test('paths of Windows stay as they are', () => {
  const windows = { cwd: String.raw`D:\a\my repo`, platform: 'win32' } as const
  expect(absolutePath(windows, String.raw`out\hero 1.png`)).toBe(String.raw`D:\a\my repo\out\hero 1.png`)
  expect(absolutePath(windows, String.raw`E:\x.png`)).toBe(String.raw`E:\x.png`)
  expect(absolutePath(windows, String.raw`\\host\share\x.png`)).toBe(String.raw`\\host\share\x.png`)
})

test('a failure before anything is sent: no variable, a bad name, a folder', async () => {
  const sandbox = await runningSandbox()
  const { cwd } = step()
  const env = { MODELGATE_BASE_URL: sandbox.url, MODELGATE_API_KEY: 'key', MODELGATE_TEXT_MODEL: 'm' }
  const runAs = (name: string, more: object = {}) =>
    runMain(['generate', '-o', 'new/a.md', '--github-output', name, 'Hi'], { cwd, env: { ...env, ...more } })
  const before = readdirSync(cwd)
  expect(await runAs('answer')).toMatchObject({
    code: 2,
    err:
      'modelgate: --github-output needs a step of GitHub Actions: GITHUB_OUTPUT is not set.\n' +
      '  hint: Elsewhere, leave the flag out: redirect standard output, or name a file with -o.\n',
  })
  for (const name of ['', '1a', 'a=b', 'a\nb', 'a<<b', 'ä']) {
    expect((await runAs(name, { GITHUB_OUTPUT: 'out put' })).code).toBe(2)
  }
  expect((await runAs('answer', { GITHUB_OUTPUT: '.' })).code).toBe(10)
  expect((await runAs('answer', { GITHUB_OUTPUT: 'no/where' })).code).toBe(10)
  expect(sandbox.requests()).toEqual([])
  expect(readdirSync(cwd)).toEqual(before)
})

test('an output and an image on standard output exclude each other', async () => {
  const words = ['image', 'create', '-o', '-', '--github-output', 'image', 'A hill']
  const { code, err } = await run(step(), words)
  expect([code, err]).toEqual([2, expect.stringContaining('--github-output takes paths')])
})

test('a failure of the answer: what came is on standard output, and there is no output', async () => {
  const place = step()
  const output = rendered(place, 'answer')
  output.event(textDelta('Half'))
  await output.error(new GenerationError('generation_failed', 'It broke.'))
  expect([place.context.stdout.text, outputsIn(place.file)]).toEqual(['Half\n', {}])
})

test('a failure of some of the files: the others are told', async () => {
  const place = step()
  const output = rendered(place, 'images', { result: 'files' })
  output.event(sampleEvents['image-save'] as OutputEvent)
  await output.error(new GenerationError('generation_failed', 'One is missing.'))
  expect(Object.keys(outputsIn(place.file))).toEqual(['images'])
})

test.each([
  ['the text', {}, textDelta('Dear'), 'Dear\n'],
  ['the paths', { result: 'files' } as const, sampleEvents['image-save'] as OutputEvent, 'a.png\n'],
])('a failure to write it: %s is on standard output', async (_, options, event, told) => {
  const place = step()
  const output = rendered(place, 'answer', options)
  output.event(event)
  rmSync(place.file)
  mkdirSync(place.file)
  await expect(output.end(sampleDocument)).rejects.toThrow('it is a folder')
  await output.error(new GenerationError('generation_failed', 'x'))
  expect(place.context.stdout.text).toBe(told)
})

test('a value that GitHub may drop is told', async () => {
  const place = step()
  const output = rendered(place, 'answer', { quiet: false })
  output.event(textDelta('a'.repeat(1024 * 1024 + 1)))
  await output.end(sampleDocument)
  expect(place.context.stderr.text).toContain('The output answer is larger than 1 MiB')
})
