import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { edit, part } from '../support/image-calls.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { paddedPng, testImages } from '../support/test-images.ts'
import { modelA, requestOf } from './both-sides.ts'

// Endpoint 6 of the specification, Limits: on both sides, as `image-edits.test.ts`.
test('model A: an image under 50000000 bytes', async () => {
  const model = modelA
  const { png } = await testImages(64)
  const path = join(temporaryFolder(), 'a.png')
  for (const [size, code, status] of [
    [49_999_999, 0, 200],
    [50_000_000, 2, 400],
  ] as const) {
    const bytes = paddedPng(png, size)
    const answer = await edit(await runningSandbox(), { model, prompt: 'x' }, [part(bytes)])
    expect([size, answer.status]).toEqual([size, status])
    writeFileSync(path, bytes)
    const call = await requestOf(['image', 'edit', '-m', model, '--image', path, 'x'])
    expect([size, call.code]).toEqual([size, code])
  }
})
