import { expect, test } from 'vitest'
import { createOutput } from '../../../src/output/create-output.ts'
import { runRenderer } from '../../../src/output/run/run-output.ts'
import { drawableSink } from '../../support/drawable-sink.ts'
import { sampleInstance, sampleRun, sampleRunEvents, sampleRunFile } from '../../support/run-samples.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { maskPng } from '../../support/test-images.ts'

/** What a terminal gets of a run that makes one picture. */
async function screenOf(env: Readonly<Record<string, string>>, content?: Uint8Array): Promise<string> {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'a.png': content ?? (await maskPng(64)) })
  const context = testContext({ cwd, env: { NO_COLOR: '1', ...env }, stderr: drawableSink() })
  const options = { quiet: false, usage: false, result: 'files', own: runRenderer(context) } as const
  const output = createOutput(context, options)
  const file = { ...sampleRunFile, path: 'a.png', mime_type: 'image/png' }
  output.event(sampleRunEvents['instance-start'])
  output.event({ type: 'instance-end', ...sampleInstance, files: [file] })
  await output.end({ ...sampleRun, left: [], orphans: [] })
  return context.stderr.text
}

const picture = '\u001b_G'

test('the newest result is shown where the terminal shows pictures, before the run ends', async () => {
  const text = await screenOf({ KITTY_WINDOW_ID: '1' })
  expect(text).toContain(picture)
  expect(text.lastIndexOf(picture)).toBeLessThan(text.indexOf('2 instances'))
})

test.each([
  ['half blocks would be all that it shows', {}],
  ['it is the log of a runner', { KITTY_WINDOW_ID: '1', CI: 'true' }],
  ['it is inside screen', { KITTY_WINDOW_ID: '1', STY: '1.tty' }],
])('none is shown where %s', async (_, env) => {
  const text = await screenOf(env)
  expect([text.includes(picture), text.includes('▀')]).toEqual([false, false])
})

test('a picture that cannot be read is told by its path alone', async () => {
  const text = await screenOf({ KITTY_WINDOW_ID: '1' }, new Uint8Array([1, 2, 3]))
  expect(text).toContain('hero: generated a.png')
  expect(text).not.toContain(picture)
})
