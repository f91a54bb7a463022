import { execFileSync } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openAtomicFile } from '../../src/files/atomic-file.ts'
import { failing, withFsHook } from '../support/fs-faults.ts'
import { openPipe } from '../support/open-pipe.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

const keep = { force: false }

test('a device is written directly and never replaced', async () => {
  const context = testContext()
  const file = await openAtomicFile(context, '/dev/null', { force: true })
  await file.write('x')
  expect(file.isDirect).toBe(true)
  expect(await file.commit()).toMatchObject({ path: '/dev/null', bytes: 1 })
  expect((await stat('/dev/null')).isCharacterDevice()).toBe(true)

  const full = await openAtomicFile(context, '/dev/full', keep)
  await expect(full.write('x')).rejects.toMatchObject({ exitCode: 10, code: 'no_space' })
  await full.discard()
})

test('a named pipe is refused: what is written is lost when its reader goes', async () => {
  const folder = temporaryFolder()
  execFileSync('mkfifo', [join(folder, 'pipe')])
  const refused = { exitCode: 10, code: 'not_a_file', message: expect.stringContaining('"pipe"') }
  for (const force of [true, false]) {
    const opening = openAtomicFile(testContext({ cwd: folder }), 'pipe', { force })
    await expect(opening).rejects.toMatchObject(refused)
  }
})

test('an open pipe, as of >(gzip), is written directly', async () => {
  const { path, read } = openPipe()
  const file = await openAtomicFile(testContext(), path, keep)
  await file.write('through')
  expect(await file.commit()).toMatchObject({ path, bytes: 7 })
  expect(read(7).toString()).toBe('through')
})

test('a device that cannot be opened is an error at once', async () => {
  const opening = withFsHook(failing('open', 'EACCES'), () =>
    openAtomicFile(testContext(), '/dev/null', keep),
  )
  await expect(opening).rejects.toMatchObject({ code: 'permission_denied' })
})

test('a device that fails when it is closed has not taken all', async () => {
  const context = testContext()
  // It is opened once before, to see whether somebody reads.
  const saving = withFsHook(failing('handle.close', 'EIO', 2), async () => {
    const file = await openAtomicFile(context, '/dev/null', keep)
    await file.write('x')
    return await file.commit()
  })
  await expect(saving).rejects.toMatchObject({ exitCode: 10 })
})

test('a device that is given up is closed', async () => {
  const left: string[] = []
  const action = async () => {
    const file = await openAtomicFile(testContext(), '/dev/null', keep)
    await file.write('x')
    await file.discard()
  }
  await withFsHook(
    async (_, call) => await call(),
    action,
    undefined,
    (paths) => left.push(...paths),
  )
  expect(left).toEqual([])
})
