import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLog } from '../../../src/files/log/log-file.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const child = join(import.meta.dirname, 'append-child.ts')

/** Runs a writer, and gives the ids that it has written; it is killed after so many, or runs to its end. */
async function write(folder: string, name: string, count: number, killAfter = Infinity): Promise<string[]> {
  const writer = spawn(process.execPath, [child, folder, String(count), name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  writer.stdout.setEncoding('utf8')
  writer.stdout.on('data', (piece: string) => {
    text += piece
    if (text.length >= killAfter * 21) writer.kill('SIGKILL')
  })
  const [code, signal] = (await once(writer, 'close')) as [number | null, string | null]
  expect([code, signal]).toEqual(killAfter === Infinity ? [0, null] : [null, 'SIGKILL'])
  // The last line may be cut.
  return text.split('\n').slice(0, -1)
}

test('eight writers at once, and kills: no entry is lost, none is torn', async () => {
  const folder = join(temporaryFolder(), 'log')
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    const killed: string[] = []
    for (let life = 1; life <= 4; life++) {
      killed.push(...(await write(folder, `${writer}${life}`, 5_000, 20 + 31 * writer + 7 * life)))
    }
    return [...killed, ...(await write(folder, `${writer}0`, Math.max(0, 1_250 - killed.length)))]
  })
  const written = (await Promise.all(writers)).flat()
  expect(written.length).toBeGreaterThanOrEqual(10_000)
  const log = openLog(folder)
  const found = new Map([...log.calls()].map((call) => [call.facts.id, call.entry()] as const))
  expect(written.filter((id) => !found.has(id))).toEqual([])
  const torn = [...found].filter(([id, { reply }]) => {
    const words = String(reply?.['text']).trimEnd().split(' ')
    return words.some((word) => word !== id) || (words.length !== 40_000 && words.length > 49)
  })
  expect(torn.map(([id]) => id)).toEqual([])
  // At most what was being written when a writer was killed.
  expect(log.unreadable).toBeLessThanOrEqual(32)
})
