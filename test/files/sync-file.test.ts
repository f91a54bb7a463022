import type { FileHandle } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { FileSync } from '../../src/files/atomic-file.ts'

const mebibyte = 1024 * 1024

/** A file whose disk does what it is told to; tells what it was asked for. */
function disk(answers: { datasync?: string; sync?: string } = {}) {
  const asked: string[] = []
  const step = async (name: 'datasync' | 'sync') => {
    asked.push(name)
    const code = answers[name]
    if (code !== undefined) throw Object.assign(new Error(code), { code })
  }
  const handle = { datasync: () => step('datasync'), sync: () => step('sync') } as unknown as FileHandle
  return { asked, handle }
}

test('a short file is brought to the disk at its end', async () => {
  const { asked, handle } = disk()
  const sync = new FileSync(handle)
  sync.wrote(mebibyte)
  await sync.finish()
  expect(asked).toEqual(['sync'])
})

test('a long file is brought there part by part, one at a time, and at its end', async () => {
  const { asked, handle } = disk()
  const sync = new FileSync(handle)
  // The second part is written while the first is still on its way.
  for (let written = 0; written < 8; written++) sync.wrote(mebibyte)
  expect(asked).toEqual(['datasync'])
  await sync.finish()
  expect(asked).toEqual(['datasync', 'sync'])
})

test('a part that could not be brought there fails the file, though its end could', async () => {
  const { handle } = disk({ datasync: 'EIO' })
  const sync = new FileSync(handle)
  sync.wrote(5 * mebibyte)
  await expect(sync.finish()).rejects.toThrow('EIO')
})

test.each(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])(
  'a system that answers %s is let be',
  async (code) => {
    const { handle } = disk({ datasync: code, sync: code })
    const sync = new FileSync(handle)
    sync.wrote(5 * mebibyte)
    await expect(sync.finish()).resolves.toBeUndefined()
  },
)

test('an end that could not be brought there fails the file', async () => {
  await expect(new FileSync(disk({ sync: 'ENOSPC' }).handle).finish()).rejects.toThrow('ENOSPC')
})
