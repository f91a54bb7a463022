// Saves three images as a command does, with every file system call numbered, and is killed at one of them.
// node save-images-child.ts FOLDER KILL-AT HOW SIZE, where HOW is before, after or half (a write is done by half).
// Prints the number of calls when it survives.
import { join } from 'node:path'
import process from 'node:process'
import { imageKind } from '../../src/files/image-inspector.ts'
import { openMediaFile } from '../../src/files/media-file.ts'
import { hookFileSystem } from '../support/fs-faults.ts'
import { noisyPng } from '../support/image-bytes.ts'
import { testContext } from '../support/test-context.ts'

const [folder = '', killAt = '-1', how = 'before', size = '1'] = process.argv.slice(2)
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

const image = noisyPng(Number(size), 64)
for (const index of [1, 2, 3]) {
  const file = openMediaFile(testContext(), imageKind, {
    pathFor: (extension) => join(folder, `hero-${index}.${extension}`),
    force: index === 2,
  })
  for (let at = 0; at < image.length; at += 2000) await file.write(image.subarray(at, at + 2000))
  await file.done()
}
process.stdout.write(String(calls))
