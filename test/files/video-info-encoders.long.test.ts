import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { videoKind, describeMedia } from '../../src/files/media-file.ts'
import { FileInspector } from '../../src/files/inspect-file.ts'
import { hasFfmpeg } from '../support/decode-video.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Three seconds of a test picture. */
const picture = ['-f', 'lavfi', '-i', 'testsrc=d=3:s=640x360:r=10']
const sound = ['-f', 'lavfi', '-i', 'sine=d=3']

test.skipIf(!hasFfmpeg).each<[string, string, readonly string[], number | null]>([
  ['the index at the end', 'a.mp4', [...picture, ...sound, '-c:v', 'mpeg4', '-c:a', 'aac'], 3],
  ['the index in front', 'b.mp4', [...picture, '-c:v', 'mpeg4', '-movflags', '+faststart'], 3],
  ['in fragments', 'c.mp4', [...picture, '-c:v', 'mpeg4', '-movflags', 'frag_keyframe+empty_moov'], null],
  ['QuickTime', 'd.mov', [...picture, '-c:v', 'mjpeg'], 3],
])('an encoder writes %s (needs ffmpeg)', (_, name, words, seconds) => {
  const path = join(temporaryFolder(), name)
  const { status, stderr } = spawnSync('ffmpeg', ['-v', 'error', ...words, path], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const bytes = readFileSync(path)
  const inspect = (length: number) => {
    const inspector = new FileInspector(512)
    inspector.add(bytes.subarray(0, length))
    const { facts, integrity } = describeMedia(videoKind, inspector)
    return { ...facts, ...integrity }
  }
  const format = name.split('.')[1]
  expect(inspect(bytes.length)).toEqual({ format, width: 640, height: 360, seconds, state: 'whole' })
})
