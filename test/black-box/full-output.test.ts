import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { jobGateway } from '../support/job-gateway.ts'
import { mp4Bytes } from '../support/video-bytes.ts'
import { spawnProgram } from './spawn-program.ts'

const cannotBeFull = !existsSync('/dev/full')

/** What is said of money when nothing can be written to standard output. */
async function remarkOf(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { exit, stderr } = await spawnProgram(argv, { shell: 'modelgate "$@" >/dev/full', env }).ended
  expect([exit, stderr]).toEqual([
    10,
    expect.stringContaining('Standard output cannot be written: no space left'),
  ])
  return /(?:"billed":"|request )(\w+)/.exec(stderr)?.[1]
}

test
  .skipIf(cannotBeFull)
  .each([
    '--version',
    '--help',
    'help exit-codes',
    'schema',
    'completion bash',
    'video list',
    'generate --sandbox --dry-run x',
  ])('%s to a full disk costs nothing', async (words) => {
  expect(await remarkOf(words.split(' '))).toBeUndefined()
})

test.skipIf(cannotBeFull).each<[string, string]>([
  ['generate --sandbox x', 'was'],
  ['respond --sandbox --json x', 'yes'],
  ['image create --sandbox -m gpt-image-1 --quality low -o x.png x', 'was'],
  ['image create --sandbox -m gpt-image-1 --quality low -o x.png --json x', 'yes'],
  ['video generate --sandbox --no-wait x', 'was'],
])('%s to a full disk has been paid for', async (words, remark) => {
  expect(await remarkOf(words.split(' '))).toBe(remark)
})

test.skipIf(cannotBeFull)('a look at a job to a full disk costs nothing', async () => {
  const gateway = await jobGateway({ film: () => Buffer.from(mp4Bytes()) })
  const env = { MODELGATE_BASE_URL: gateway.url, MODELGATE_API_KEY: 'some-key' }
  expect(await remarkOf(['video', 'status', 'models/veo/operations/op0'], env)).toBeUndefined()
})
