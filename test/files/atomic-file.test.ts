import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmod,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openAtomicFile, type WriteOptions, openTextFile } from '../../src/files/atomic-file.ts'
import { failing, withFsHook } from '../support/fs-faults.ts'
import { failureOf } from '../support/config-place.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'
import { execFileSync } from 'node:child_process'
import { openPipe } from '../support/open-pipe.ts'
import * as fc from 'fast-check'
import { anyText } from '../support/any-text.ts'
import { runs } from '../support/sample.ts'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { makeFolder, renameFile } from '../../src/files/write-target.ts'

const keep = { force: false }
const force = { force: true }

async function save(folder: string, name: string, content: string, options: WriteOptions = keep) {
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

test('a folder that is gone is an error', async () => {
  const folder = join(temporaryFolder(), 'sub')
  await mkdir(folder)
  const file = await openAtomicFile(testContext({ cwd: folder }), 'a.txt', keep)
  await file.write('one')
  await rm(folder, { recursive: true })
  expect(await failureOf(() => file.commit())).toContain('10 not_found')
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
  await expect(save(folder, 'sub', 'new', force)).rejects.toMatchObject({ exitCode: 10, code: 'not_a_file' })
  await expect(save(folder, 'none/', 'new', force)).rejects.toMatchObject({ code: 'not_a_file' })
  expect((await readdir(folder)).toSorted()).toEqual(['dangling', 'link', 'old', 'sub'])
})

test('the folders of a file are made', async () => {
  const folder = temporaryFolder()
  await save(folder, "out/it's here/a.png", 'x')
  expect(await readFile(join(folder, "out/it's here/a.png"), 'utf8')).toBe('x')
  await writeFile(join(folder, 'file'), '')
  await expect(save(folder, 'file/a.png', 'x')).rejects.toMatchObject({ exitCode: 10, code: 'not_found' })
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
    code: 'bad_file_name',
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

test('only the owner may read the file before it is whole; then the umask decides, or the mode that is given', async () => {
  const folder = temporaryFolder()
  await writeFile(join(folder, 'ordinary'), '')
  const ordinary = (await stat(join(folder, 'ordinary'))).mode & 0o777
  for (const [name, options, mode] of [
    ['a', keep, ordinary],
    ['b', { force: false, mode: 0o640 }, 0o640],
  ] as const) {
    const file = await openAtomicFile(testContext({ cwd: folder }), name, options)
    const temporary = (await readdir(folder)).find((entry) => entry.endsWith('.mgpart'))!
    expect((await stat(join(folder, temporary))).mode & 0o777).toBe(0o600)
    await file.commit()
    expect((await stat(join(folder, name))).mode & 0o777).toBe(mode)
  }
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

test.each([
  ['moved', (out: string) => rename(out, `${out}-moved`)],
  ['removed', (out: string) => rm(out, { recursive: true })],
])('a folder that is %s for a link while writing does not lead the file elsewhere', async (_, makeRoom) => {
  const folder = temporaryFolder()
  await mkdir(join(folder, 'out'))
  await mkdir(join(folder, 'victim'))
  const file = await openAtomicFile(testContext({ cwd: folder }), 'out/a', keep)
  await file.write('x')
  await makeRoom(join(folder, 'out'))
  await symlink('victim', join(folder, 'out'))
  await expect(file.commit()).rejects.toMatchObject({ exitCode: 10 })
  expect(await readdir(join(folder, 'victim'))).toEqual([])
})

test('what killed processes left more than a day ago is removed, and nothing else', async () => {
  const folder = temporaryFolder()
  const context = testContext({ cwd: folder })
  // Times of files are those of the file system.
  const now = Date.now() / 1000
  const ages = {
    '.old.0123456789abcdef.mgpart': 86_401,
    '.young.0123456789abcdef.mgpart': 86_300,
    'old.0123456789abcdef.mgpart': 1e6,
    'x.old.0123456789abcdef.mgpart': 1e6,
    '.old.0123456789abcdef.mgpart.txt': 1e6,
    '.0123456789abcdef.mgpart': 1e6,
    '.old.mgpart': 1e6,
    '.notes.txt': 1e6,
    '.folder.0123456789abcdef.mgpart': 1e6,
  }
  for (const [name, age] of Object.entries(ages)) {
    await (name.startsWith('.folder') ? mkdir(join(folder, name)) : writeFile(join(folder, name), ''))
    await utimes(join(folder, name), now - age, now - age)
  }
  const file = await openAtomicFile(context, 'a', keep)
  await file.discard()
  expect((await readdir(folder)).toSorted()).toEqual(Object.keys(ages).slice(1).toSorted())
})

test('messages name the path, and what to do', async () => {
  const folder = temporaryFolder()
  await mkdir(join(folder, 'sub'))
  await expect(save(folder, 'sub', 'x')).rejects.toMatchObject({
    message: '"sub" cannot be written: it is a folder.',
    facts: { hint: 'Name a file in it: sub/NAME' },
  })
  const server = createServer().listen(join(folder, 'socket'))
  await once(server, 'listening')
  await expect(save(folder, 'socket', 'x', force)).rejects.toMatchObject({
    code: 'not_a_file',
    message: '"socket" cannot be written: it is not a regular file.',
    facts: { hint: 'Name another file.' },
  })
  server.close()
})

test('a link that leads back to itself is one that exists, and may be replaced', async () => {
  const folder = temporaryFolder()
  await symlink('loop', join(folder, 'loop'))
  await expect(save(folder, 'loop', 'x')).rejects.toMatchObject({ code: 'file_exists' })
  await save(folder, 'loop', 'x', force)
  expect(await readFile(join(folder, 'loop'), 'utf8')).toBe('x')
  await symlink('ring', join(folder, 'ring'))
  await expect(save(folder, 'ring/a', 'x', force)).rejects.toMatchObject({ exitCode: 10 })
})

test('a taken name gets a number, also where it was taken meanwhile', async () => {
  const folder = temporaryFolder()
  const spare = { force: false, numbered: true }
  await writeFile(join(folder, 'a'), 'old')
  expect(await save(folder, 'a', 'one', spare)).toMatchObject({ path: 'a-2' })
  await mkdir(join(folder, 'sub'))
  const file = await openAtomicFile(testContext({ cwd: folder }), 'sub/a', spare)
  await writeFile(join(folder, 'sub/a'), 'old')
  await writeFile(join(folder, 'sub/a-2'), 'old')
  expect(await file.commit()).toMatchObject({ path: 'sub/a-3' })
  expect(await save(folder, './b', 'one', spare)).toMatchObject({ path: './b' })
  expect((await readdir(folder)).toSorted()).toEqual(['a', 'a-2', 'b', 'sub'])
})

test('incomplete content is called damaged, and replaces nothing, not even with force', async () => {
  const folder = temporaryFolder()
  for (const path of ['a.damaged.png', 'a-2.damaged.png', 'a.png']) await writeFile(join(folder, path), 'old')
  const file = await openAtomicFile(testContext({ cwd: folder }), './a.png', force)
  await file.write('half')
  const { path } = await file.commit(true)
  expect(path).toBe('a.damaged-2.png')
  expect(await readFile(join(folder, path), 'utf8')).toBe('half')
  expect(await readFile(join(folder, 'a.damaged.png'), 'utf8')).toBe('old')
  expect(await readFile(join(folder, 'a.png'), 'utf8')).toBe('old')
})

describe('a file system', () => {
  test.each(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])(
    'that knows no permissions (%s) holds the file all the same',
    async (code) => {
      const folder = temporaryFolder()
      await withFsHook(failing('handle.chmod', code), () => save(folder, 'a', 'x'))
      expect(await readFile(join(folder, 'a'), 'utf8')).toBe('x')
    },
  )

  test.each(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])(
    'that cannot be told to write to the disk (%s) is let be',
    async (code) => {
      const folder = temporaryFolder()
      await withFsHook(failing('handle.sync', code), () => save(folder, 'a', 'x'))
      expect(await readFile(join(folder, 'a'), 'utf8')).toBe('x')
    },
  )

  test('that fails to set permissions is told, and nothing is left', async () => {
    const folder = temporaryFolder()
    for (const count of [1, Infinity]) {
      const saving = withFsHook(failing('handle.chmod', 'EIO', 1, count), () => save(folder, 'a', 'x'))
      await expect(saving).rejects.toMatchObject({ exitCode: 10 })
      expect(await readdir(folder)).toEqual([])
    }
  })

  test.each(['EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV', 'EISDIR'])(
    'without hard links (%s) holds the file, and no other is overwritten',
    async (code) => {
      const folder = temporaryFolder()
      await withFsHook(failing('link', code), () => save(folder, 'a', 'x'))
      expect(await readFile(join(folder, 'a'), 'utf8')).toBe('x')
      const context = testContext({ cwd: folder })
      const saving = withFsHook(failing('link', code), async () => {
        const file = await openAtomicFile(context, 'b', keep)
        await writeFile(join(folder, 'b'), 'old')
        await file.commit()
      })
      await expect(saving).rejects.toMatchObject({ code: 'file_exists' })
      expect(await readFile(join(folder, 'b'), 'utf8')).toBe('old')
      expect((await readdir(folder)).toSorted()).toEqual(['a', 'b'])
    },
  )

  test('that takes the name but not the file leaves no empty one', async () => {
    const folder = temporaryFolder()
    const hook = async (name: string, call: () => Promise<unknown>) => {
      if (name === 'link') throw Object.assign(new Error('injected'), { code: 'EPERM' })
      if (name === 'rename') throw Object.assign(new Error('injected'), { code: 'EIO' })
      return await call()
    }
    await expect(withFsHook(hook, () => save(folder, 'a', 'x'))).rejects.toMatchObject({ exitCode: 10 })
    expect(await readdir(folder)).toEqual([])
  })
})

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

test('the file holds exactly the text', async () => {
  const folder = temporaryFolder()
  const context = testContext({ cwd: folder })
  let count = 0
  await fc.assert(
    fc.asyncProperty(anyText(), async (text) => {
      const name = `file-${count++}`
      const saved = await (await openTextFile(context, name, { force: false })).commit(text)
      const content = await readFile(join(folder, name))
      expect(content).toEqual(Buffer.from(text))
      expect(saved).toMatchObject({ path: name, bytes: content.length, mime_type: 'text/plain' })
    }),
    runs(25),
  )
})

test('discard leaves nothing, and a full device is told', async () => {
  const folder = temporaryFolder()
  await (await openTextFile(testContext({ cwd: folder }), 'a', { force: false })).discard()
  expect(await readdir(folder)).toEqual([])
  const file = await openTextFile(testContext(), '/dev/full', { force: false })
  await expect(file.commit('x')).rejects.toMatchObject({ exitCode: 10, code: 'no_space' })
})

test('a folder is made with those above it, for the user alone', async () => {
  const root = temporaryFolder()
  await makeFolder(join(root, 'a', 'b', 'c'))
  for (const path of ['a', 'a/b', 'a/b/c']) {
    const { mode } = statSync(join(root, path))
    expect([path, process.platform === 'win32' ? 0o700 : mode & 0o777]).toEqual([path, 0o700])
  }
})

test('many may make the same folder at once, and one that is there stays as it is', async () => {
  const root = temporaryFolder()
  mkdirSync(join(root, 'there'))
  const { mode } = statSync(join(root, 'there'))
  await Promise.all(Array.from({ length: 8 }, () => makeFolder(join(root, 'there', 'x', 'y'))))
  expect(statSync(join(root, 'there')).mode).toBe(mode)
  expect(statSync(join(root, 'there', 'x', 'y')).isDirectory()).toBe(true)
})

test('a file in the way is an error', async () => {
  const root = temporaryFolder()
  writeFileSync(join(root, 'file'), '')
  await expect(makeFolder(join(root, 'file'))).rejects.toMatchObject({ code: 'EEXIST' })
  await expect(makeFolder(join(root, 'file', 'x'))).rejects.toMatchObject({ code: 'ENOTDIR' })
})

test.runIf(process.platform === 'linux')(
  'a place where nothing can be made is an error, not a loop',
  async () => {
    await expect(makeFolder('/proc/self/nothing/a/b')).rejects.toMatchObject({ code: 'ENOENT' })
  },
)

test('a file that is not there cannot be renamed, wherever the program runs', async () => {
  const root = temporaryFolder()
  await expect(renameFile(undefined, join(root, 'none'), join(root, 'other'))).rejects.toMatchObject({
    code: 'ENOENT',
  })
})
