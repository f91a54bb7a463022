import { execFile } from 'node:child_process'
import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { seededRandom } from '../../src/sandbox/seeded-random.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { saveLargeVideo } from './save-large-video.ts'
import { filesIn, folderWithOlder, mediaToSave, remainsIn } from './saved-media.ts'

/** Runs the saving child; undefined when it was killed. */
function saveInChild(kind: string, folder: string, killAt: number, how: string): Promise<number | undefined> {
  const script = join(import.meta.dirname, 'save-media-child.ts')
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [script, kind, folder, String(killAt), how], (error, stdout, stderr) => {
      if (error?.signal === 'SIGKILL') resolve(undefined)
      else if (error !== null) reject(new Error(stderr))
      else resolve(Number(stdout))
    })
  })
}

test.each([
  ['images', 100],
  ['videos', 60],
] as const)(
  '%s: killed %i times while saving, nothing is ever incomplete under its name, and a later run cleans up',
  async (kind, count) => {
    const media = mediaToSave[kind]
    const root = temporaryFolder()
    const whole = await folderWithOlder(media, join(root, 'whole'))
    const calls = (await saveInChild(kind, whole, -1, 'before'))!
    expect([...(await filesIn(whole)).keys()]).toEqual(media.names)
    const random = seededRandom(20_260_820)
    const kill = async (number: number) => {
      const folder = await folderWithOlder(media, join(root, String(number)))
      const how = ['before', 'half', 'after'][number % 3]!
      const survived = await saveInChild(kind, folder, Math.floor(random() * calls), how)
      return { folder, survived, ...(await remainsIn(folder, media)) }
    }
    const results: Awaited<ReturnType<typeof kill>>[] = []
    for (let number = 0; number < count; number += 2) {
      results.push(...(await Promise.all([kill(number), kill(number + 1)])))
    }
    expect(results.filter(({ survived }) => survived !== undefined)).toEqual([])
    expect(results.flatMap(({ broken }) => broken)).toEqual([])
    // The kills did fall on every file, and on both sides of its naming.
    expect([...new Set(results.map((result) => result.whole))].toSorted()).toEqual([
      0,
      ...media.names.map((_, at) => at + 1),
    ])
    expect(results.flatMap(({ temporary }) => temporary).length).toBeGreaterThan(0)
    for (const { folder, temporary } of results) {
      for (const name of temporary) {
        expect(name).toMatch(/^\.(hero|clip)-\d\.(png|mp4)\.[0-9a-f]{16}\.mgpart$/)
        await utimes(join(folder, name), 0, 0)
      }
      await media.save(folder)
      expect((await remainsIn(folder, media)).temporary).toEqual([])
    }
  },
  120_000,
)

test('2 GiB need at most 150 MiB of memory', async () => {
  const { bytes, seconds, memory } = await saveLargeVideo(2048)
  expect(bytes).toBeGreaterThan(2 ** 31)
  expect(seconds).toBe(4)
  expect(memory).toBeLessThan(150)
})
