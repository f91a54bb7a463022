import { chmodSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rewriteFile } from '../../src/config/rewrite-file.ts'
import { skipOnWindows } from '../support/skip-on-windows.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

async function rewriteTheSame(platform: NodeJS.Platform) {
  const path = join(temporaryFolder(), 'credentials.json')
  writeFileSync(path, '{}')
  // What Windows says of every file that may be written.
  chmodSync(path, 0o666)
  const { changed } = await rewriteFile(testContext({ platform }), path, async () => '{}', 0o600)
  return { changed, mode: statSync(path).mode & 0o777 }
}

test('a file of keys that others may read is written again, where permissions say that', async () => {
  skipOnWindows('permission bits')
  expect(await rewriteTheSame('linux')).toEqual({ changed: true, mode: 0o600 })
  expect(await rewriteTheSame('darwin')).toEqual({ changed: true, mode: 0o600 })
})

test('on Windows they always say so: what is in it already is left', async () => {
  expect(await rewriteTheSame('win32')).toMatchObject({ changed: false })
})
