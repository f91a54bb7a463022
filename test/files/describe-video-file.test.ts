import { expect, test } from 'vitest'
import { describeVideoFile, videoKind } from '../../src/files/video-info.ts'
import { openMediaFile } from '../../src/files/media-file.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'
import { mp4Bytes, webmBytes } from '../support/video-bytes.ts'

test.each([
  ['mp4', mp4Bytes({}, Buffer.alloc(3_000_000, 1))],
  ['webm', webmBytes],
])('a saved %s is described as when it was saved', async (_, bytes) => {
  const context = testContext({ cwd: temporaryFolder() })
  const file = openMediaFile(context, videoKind, {
    pathFor: (extension) => `clip.${extension}`,
    force: false,
  })
  await file.write(bytes)
  const saved = await file.commit()
  expect(await describeVideoFile(context, saved.path)).toEqual(saved)
})

test.each(['page.mp4', 'empty.mp4', 'missing.mp4', 'folder'])('%s is not a video', async (path) => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'page.mp4': '<html>', 'empty.mp4': '', 'folder/x': '' })
  expect(await describeVideoFile(testContext({ cwd }), path)).toBeUndefined()
})
