import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keepFolder } from '../../../../src/pipeline/queue/worker/task-folder.ts'
import { temporaryFolder, writeFiles } from '../../../support/temporary-folder.ts'

test('what each of several attempts has left is kept', async () => {
  const folder = temporaryFolder()
  for (const text of ['one', 'two', 'three']) {
    writeFiles(folder, { 'made/a.png': text })
    await keepFolder({ folder }, join(folder, 'made'), 'key.attempt')
  }
  const kept = join(folder, 'kept')
  const names = ['key.attempt', 'key.attempt-2', 'key.attempt-3']
  expect(readdirSync(kept).sort()).toEqual(names)
  expect(names.map((name) => readFileSync(join(kept, name, 'a.png'), 'utf8'))).toEqual([
    'one',
    'two',
    'three',
  ])
})

test('nothing is said to be kept that is not', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'kept'), 'a file in the way')
  writeFiles(folder, { 'made/a.png': 'one' })
  await expect(keepFolder({ folder }, join(folder, 'made'), 'key.attempt')).rejects.toMatchObject({
    exit: 'io',
  })
  expect(readdirSync(join(folder, 'made'))).toEqual(['a.png'])
})
