// Saves two videos as a command does, with every file system call numbered, and is killed at one of them.
// node save-videos-child.ts FOLDER KILL-AT HOW, where HOW is before, after or half (a write is done by half).
// Prints the number of calls when it survives.
import { join } from 'node:path'
import process from 'node:process'
import { openMediaFile } from '../../src/files/media-file.ts'
import { videoKind } from '../../src/files/video-info.ts'
import { hookFileSystem } from '../support/fs-faults.ts'
import { testContext } from '../support/test-context.ts'
import { mp4Bytes } from '../support/video-bytes.ts'

const [folder = '', killAt = '-1', how = 'before'] = process.argv.slice(2)
let calls = 0

await hookFileSystem(async (_, call) => {
  const isChosen = calls++ === Number(killAt)
  if (isChosen && how === 'before') process.kill(process.pid, 'SIGKILL')
  const result = call()
  // The call has been handed to another thread: it is under way when the process ends.
  if (isChosen && how === 'half') process.kill(process.pid, 'SIGKILL')
  if (isChosen) await result.catch(() => {})
  if (isChosen) process.kill(process.pid, 'SIGKILL')
  return await result
})

const video = mp4Bytes({}, Buffer.alloc(9000, 5))
for (const index of [1, 2]) {
  const file = openMediaFile(testContext(), videoKind, {
    pathFor: (extension) => join(folder, `clip-${index}.${extension}`),
    force: index === 2,
  })
  for (let at = 0; at < video.length; at += 2000) await file.write(video.subarray(at, at + 2000))
  await file.done()
}
process.stdout.write(String(calls))
