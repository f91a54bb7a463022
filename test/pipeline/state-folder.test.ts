import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { makeStateFolder, projectOf, readStateFile } from '../../src/pipeline/project.ts'
import { failureOf } from '../support/config-place.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test.each([
  ['.modelgate', false],
  ['.modelgate/runs', false],
  ['.modelgate/work', false],
  ['.modelgate/calls/2026-11.jsonl', false],
  ['.modelgate/replaced/list.jsonl', false],
  ['.modelgate/sandbox', true],
  ['.modelgate/sandbox/.modelgate', true],
  ['.modelgate/sandbox/.modelgate/store', true],
])('a link in place of %s is refused', async (link, isSandbox) => {
  const [folder, elsewhere] = [temporaryFolder(), temporaryFolder()]
  const path = join(folder, link)
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(elsewhere, path)
  const project = projectOf(join(folder, 'modelgate.yaml'), isSandbox)
  expect(await failureOf(() => makeStateFolder(project, 'runs'))).toBe(
    `10 no_state_folder (input)\n"${path}" is a symbolic link, which could lead to anyone's files.\nhint: Remove it; what belongs there is created.`,
  )
  expect(readdirSync(elsewhere)).toEqual([])
})

test('a pipe, which would hold up whoever opens it, is refused', async () => {
  const folder = temporaryFolder()
  const pipe = join(folder, '.modelgate/calls/version')
  mkdirSync(dirname(pipe), { recursive: true })
  spawnSync('mkfifo', [pipe])
  const project = projectOf(join(folder, 'modelgate.yaml'), false)
  expect(await failureOf(() => makeStateFolder(project, 'runs'))).toContain(
    `10 no_state_folder (input)\n"${pipe}" is neither a file nor a folder.`,
  )
})

test('a folder is made below .modelgate, which Git leaves out', async () => {
  const folder = temporaryFolder()
  const path = await makeStateFolder(projectOf(join(folder, 'modelgate.yaml'), false), 'runs')
  expect(path).toBe(join(folder, '.modelgate/runs'))
  expect(readFileSync(join(folder, '.modelgate/.gitignore'), 'utf8')).toBe('*\n')
})

test('a file is read, and what is none is refused at once', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'file'), 'x')
  spawnSync('mkfifo', [join(folder, 'pipe')])
  symlinkSync('/dev/zero', join(folder, 'endless'))
  expect((await readStateFile(join(folder, 'file')))?.toString()).toBe('x')
  expect(await readStateFile(join(folder, 'none'))).toBeUndefined()
  expect(await failureOf(() => readStateFile(join(folder, 'file'), 'it', 0))).toBe(
    '10 file_too_large (input)\n"it" is too large: 1 bytes; the limit is 0 bytes.',
  )
  for (const name of ['pipe', 'endless', '.']) {
    const failure = await failureOf(() => readStateFile(join(folder, name), 'it'))
    expect(failure).toContain('10 not_a_file (input)\n"it" ')
  }
})
