import { execFile } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('a video needs at most 150 MiB of memory, however large it is', async () => {
  const script = join(import.meta.dirname, 'large-video-child.ts')
  const args = [script, join(temporaryFolder(), 'large.mp4'), '300']
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const { bytes, memory } = JSON.parse(stdout) as { readonly bytes: number; readonly memory: number }
  expect(bytes).toBeGreaterThan(300 * 2 ** 20)
  expect(memory).toBeLessThan(150)
})
