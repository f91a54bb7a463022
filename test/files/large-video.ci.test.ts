import { expect, test } from 'vitest'
import { saveLargeVideo } from './save-large-video.ts'

test('a video needs at most 150 MiB of memory, however large it is', async () => {
  const { bytes, memory } = await saveLargeVideo(300)
  expect(bytes).toBeGreaterThan(300 * 2 ** 20)
  expect(memory).toBeLessThan(150)
})
