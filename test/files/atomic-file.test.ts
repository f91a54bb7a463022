import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { chmod, mkdir, readFile, readdir, rename, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { Interrupted } from '../../src/errors.ts'
import { openAtomicFile } from '../../src/files/open-atomic-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

const keep = { force: false }
const force = { force: true }

async function save(folder: string, name: string, content: string, options = keep) {
  const file = await openAtomicFile(testContext({ cwd: folder }), name, options)
  await file.write(content)
  return await file.commit()
}

test('the file appears under its name at commit, not before, and is described', async () => {
  const folder = temporaryFolder()
  const file = await openAtomicFile(testContext({ cwd: folder }), 'a.txt', keep)
  await file.write('grün')
  await file.write(new Uint8Array([0, 255]))
  const [temporary, ...others] = await readdir(folder)
  expect(others).toEqual([])
  expect(temporary).toMatch(/^\.a\.txt\.[0-9a-f]{16}\.mgpart$/)

  const saved = await file.commit()
  const content = Buffer.concat([Buffer.from('grün'), Buffer.from([0, 255])])
  expect(await readFile(join(folder, 'a.txt'))).toEqual(content)
  expect(await readdir(folder)).toEqual(['a.txt'])
  expect(saved).toEqual({
    path: 'a.txt',
    bytes: 7,
    sha256: createHash('sha256').update(content).digest('hex'),
  })
})

test('discard leaves nothing, also twice, and does nothing after commit', async () => {
  const folder = temporaryFolder()
  const context = testContext({ cwd: folder })
  const file = await openAtomicFile(context, 'a', keep)
  await file.write('x')
  await file.discard()
  await file.discard()
  expect(await readdir(folder)).toEqual([])
  const other = await openAtomicFile(context, 'b', keep)
  await other.commit()
  await other.discard()
  expect(await readdir(folder)).toEqual(['b'])
})

test('an existing file, folder or dangling link is refused when opened', async () => {
  const folder = temporaryFolder()
  await writeFile(join(folder, 'old'), 'old')
  await mkdir(join(folder, 'sub'))
  await symlink('nowhere', join(folder, 'dangling'))
  await symlink('old', join(folder, 'link'))
  const taken = { exitCode: 10, code: 'file_exists', facts: { hint: expect.stringContaining('--force') } }
  await expect(save(folder, 'old', 'new')).rejects.toMatchObject(taken)
  await expect(save(folder, 'dangling', 'new')).rejects.toMatchObject(taken)
  await expect(save(folder, 'link', 'new')).rejects.toMatchObject(taken)
  await expect(save(folder, 'sub', 'new', force)).rejects.toMatchObject({ exitCode: 10, code: 'is_folder' })
  await expect(save(folder, 'none/', 'new', force)).rejects.toMatchObject({ code: 'is_folder' })
  expect((await readdir(folder)).toSorted()).toEqual(['dangling', 'link', 'old', 'sub'])
})

test('a missing folder is told with the command that creates it', async () => {
  const folder = temporaryFolder()
  await expect(save(folder, "out/it's here/a.png", 'x')).rejects.toMatchObject({
    exitCode: 10,
    code: 'folder_missing',
    facts: { hint: String.raw`Create the folder first: mkdir -p 'out/it'\''s here'` },
  })
  await writeFile(join(folder, 'file'), '')
  await expect(save(folder, 'file/a.png', 'x')).rejects.toMatchObject({ exitCode: 10, code: 'not_a_folder' })
})

test.each(['', 'a\0b'])('the name %j is refused', async (name) => {
  await expect(save(temporaryFolder(), name, 'x')).rejects.toMatchObject({ exitCode: 2 })
})

test('the longest legal name works, a longer one is refused when opened', async () => {
  const folder = temporaryFolder()
  const longest = 'ä'.repeat(127) + 'b'
  await save(folder, longest, 'x')
  expect(await readdir(folder)).toEqual([longest])
  await expect(save(folder, `${longest}c`, 'x')).rejects.toMatchObject({
    exitCode: 10,
    code: 'name_too_long',
  })
})

test('force replaces the file and keeps its permissions; a link is replaced, not followed', async () => {
  const folder = temporaryFolder()
  const victim = join(folder, 'victim')
  await writeFile(victim, 'victim')
  await symlink('victim', join(folder, 'link'))
  await save(folder, 'link', 'new', force)
  expect(await readFile(victim, 'utf8')).toBe('victim')
  expect(await readFile(join(folder, 'link'), 'utf8')).toBe('new')
  await chmod(victim, 0o640)
  await save(folder, 'victim', 'replaced', force)
  expect(await readFile(victim, 'utf8')).toBe('replaced')
  expect((await stat(victim)).mode & 0o777).toBe(0o640)
})

test('only the owner may read the file before it is whole; then the umask decides', async () => {
  const folder = temporaryFolder()
  const file = await openAtomicFile(testContext({ cwd: folder }), 'a', keep)
  const [temporary] = await readdir(folder)
  expect((await stat(join(folder, temporary!))).mode & 0o777).toBe(0o600)
  await file.commit()
  await writeFile(join(folder, 'ordinary'), '')
  const ordinary = await stat(join(folder, 'ordinary'))
  expect((await stat(join(folder, 'a'))).mode).toBe(ordinary.mode)
})

test('of two that open the same name, one is saved whole and the other fails', async () => {
  const folder = temporaryFolder()
  const context = testContext({ cwd: folder })
  const files = [await openAtomicFile(context, 'a', keep), await openAtomicFile(context, 'a', keep)]
  await Promise.all(files.map((file, index) => file.write(`content ${index}`)))
  const results = await Promise.allSettled(files.map((file) => file.commit()))
  const winner = results.findIndex(({ status }) => status === 'fulfilled')
  expect(results[1 - winner]).toMatchObject({ status: 'rejected', reason: { code: 'file_exists' } })
  expect(await readFile(join(folder, 'a'), 'utf8')).toBe(`content ${winner}`)
  expect(await readdir(folder)).toEqual(['a'])
})

test('a folder that is swapped for a link while writing does not lead the file elsewhere', async () => {
  const folder = temporaryFolder()
  await mkdir(join(folder, 'out'))
  await mkdir(join(folder, 'victim'))
  const file = await openAtomicFile(testContext({ cwd: folder }), 'out/a', keep)
  await file.write('x')
  await rename(join(folder, 'out'), join(folder, 'moved'))
  await symlink('victim', join(folder, 'out'))
  await expect(file.commit()).rejects.toMatchObject({ exitCode: 10 })
  expect(await readdir(join(folder, 'victim'))).toEqual([])
})

test('what killed processes left more than a day ago is removed, and nothing else', async () => {
  const folder = temporaryFolder()
  const context = testContext({ cwd: folder })
  const now = context.clock.now() / 1000
  const ages = {
    '.old.0123456789abcdef.mgpart': 86_401,
    '.young.0123456789abcdef.mgpart': 86_399,
    'old.0123456789abcdef.mgpart': 1e6,
    '.old.mgpart': 1e6,
    '.notes.txt': 1e6,
  }
  for (const [name, age] of Object.entries(ages)) {
    await writeFile(join(folder, name), '')
    await utimes(join(folder, name), now - age, now - age)
  }
  const file = await openAtomicFile(context, 'a', keep)
  await file.discard()
  expect((await readdir(folder)).toSorted()).toEqual(Object.keys(ages).slice(1).toSorted())
})

test('a device is written directly and never replaced', async () => {
  const context = testContext()
  const file = await openAtomicFile(context, '/dev/null', force)
  await file.write('x')
  expect(file.isDirect).toBe(true)
  expect(await file.commit()).toMatchObject({ path: '/dev/null', bytes: 1 })
  expect((await stat('/dev/null')).isCharacterDevice()).toBe(true)

  const full = await openAtomicFile(context, '/dev/full', keep)
  await expect(full.write('x')).rejects.toMatchObject({ exitCode: 10, code: 'no_space' })
  await full.discard()
})

test('a named pipe is written directly once its reader has come', async () => {
  const folder = temporaryFolder()
  const context = testContext({ cwd: folder })
  execFileSync('mkfifo', [join(folder, 'pipe')])
  const opening = openAtomicFile(context, 'pipe', keep)
  const received = textOf(createReadStream(join(folder, 'pipe')))
  const opened = new Set<unknown>()
  void opening.then((file) => opened.add(file))
  while (opened.size === 0) await context.clock.advance(50)
  const file = await opening
  await file.write('through')
  await file.commit()
  expect(await received).toBe('through')
})

test('waiting for the reader of a named pipe ends with the signal', async () => {
  const folder = temporaryFolder()
  const context = testContext({ cwd: folder })
  execFileSync('mkfifo', [join(folder, 'pipe')])
  const opening = openAtomicFile(context, 'pipe', keep)
  while (context.clock.pendingTimers === 0) await context.clock.advance(0)
  context.abort(new Interrupted('interrupt'))
  await expect(opening).rejects.toMatchObject({ exitCode: 130 })
})
