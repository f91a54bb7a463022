import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject, onTestFinished, expect, test } from 'vitest'
import { canaryKey, expectNoCanary, expectNoCanaryBelow } from './support/canary-key.ts'
import { formsIn, placesBelow } from './support/find-canary.ts'
import { temporaryFolder } from './support/temporary-folder.ts'
import { watchArguments } from './support/watch-suite.ts'

/** What looks for keys in all that tests leave must itself be able to find one. */
const canary = 'gh7kq2mfa8bpc3ds'

test.each<[string, (text: string) => string | Buffer]>([
  ['as it is', (text) => text],
  ['reversed', (text) => [...text].reverse().join('')],
  ['hexadecimal', (text) => Buffer.from(text).toString('hex')],
  ['HEXADECIMAL', (text) => Buffer.from(text).toString('hex').toUpperCase()],
  ['base64 at offset 0', (text) => Buffer.from(`abc${text}yz`).toString('base64')],
  ['base64 at offset 1', (text) => Buffer.from(`a${text}z`).toString('base64url')],
  ['base64 at offset 2', (text) => Buffer.from(`ab${text}`).toString('base64')],
  ['UTF-16', (text) => Buffer.from(`x${text}x`, 'utf16le')],
  ['UTF-16', (text) => Buffer.from(`x${text}x`, 'utf16le').swap16()],
])('a text %s is found among others', (form, write) => {
  const bytes = Buffer.concat([Buffer.from('before '), Buffer.from(write(canary)), Buffer.from(' after')])
  expect(formsIn(bytes, canary)).toEqual([form])
  expect(formsIn(bytes, [...canary].sort().join(''))).toEqual([])
})

test('what is below a folder is looked through: files, names and links, also across its pieces', () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'deep'))
  // The end of the first piece that is read.
  const large = Buffer.alloc(9 * 1_048_576)
  large.write(canary, 8 * 1_048_576 - 5)
  writeFileSync(join(folder, 'deep/large.bin'), large)
  writeFileSync(join(folder, `of-${canary}.txt`), 'nothing')
  writeFileSync(join(folder, 'clean.txt'), 'nothing')
  symlinkSync(`/nowhere/${canary}`, join(folder, 'link'))
  expect(placesBelow(folder, canary).sort()).toEqual([
    `${folder}/deep/large.bin, as it is`,
    `the link ${folder}/link`,
    `the name of ${folder}/of-[canary].txt`,
  ])
})

test('a file that holds a key on purpose is passed over, and no other of the same folder', () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'credentials.json'), canary)
  writeFileSync(join(folder, 'credentials.json.tmp'), canary)
  expect(placesBelow(folder, canary)).toEqual([`${folder}/credentials.json.tmp, as it is`])
})

test('every key of the suite is one that is looked for', () => {
  const folder = temporaryFolder()
  const file = join(folder, 'left.txt')
  writeFileSync(file, `authorization: Bearer ${canaryKey()}`)
  expect(() => expectNoCanaryBelow(folder)).toThrow('places of a key')
  expect(() => expectNoCanary('a text', canaryKey())).toThrow('forms of a key in a text')
  // The folder itself is looked through when this test has ended.
  rmSync(file)
  expect(inject('canary')).toMatch(/^[a-z]{16}$/)
})

const hasProc = process.platform === 'linux'
test.skipIf(!hasProc)('a key among the arguments of a process is seen (needs /proc)', async () => {
  const watch = await watchArguments(canary)
  const script = 'setInterval(() => {}, 1000)'
  const child = spawn('sh', ['-c', 'read -r line; exec "$NODE" -e "$SCRIPT" -- "--key=$line"'], {
    env: { ...process.env, NODE: process.execPath, SCRIPT: script },
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  child.stdin.write(`${canary}\n`)
  await watch.seen
  expect(await watch.stop()).toEqual([expect.stringContaining('--key=[canary]')])
})
