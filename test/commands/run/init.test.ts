import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runMain } from '../../support/run-main.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'

test('run init writes a manifest that runs in the sandbox at once', async () => {
  const cwd = temporaryFolder()
  const first = expect.stringContaining('Write one with modelgate run init') as string
  expect(await runMain(['run'], { cwd })).toMatchObject({ code: 2, err: first })
  expect(await runMain(['run', 'init'], { cwd })).toMatchObject({
    code: 0,
    out: 'modelgate.yaml\n',
    err: 'It has three jobs. Try them: modelgate run --sandbox\n',
  })
  const err = '4 instances: 1 new, 3 pending\n4 to create, 0 of 20 used\n'
  expect(await runMain(['run', '--sandbox', '--plan'], { cwd })).toMatchObject({ code: 0, err })
})

test('run init replaces no manifest, unless it is told to', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'canon.yaml': 'mine' })
  const { code, err } = await runMain(['run', 'init', '-f', 'canon.yaml'], { cwd })
  expect([code, readFileSync(join(cwd, 'canon.yaml'), 'utf8')]).toEqual([10, 'mine'])
  expect(err).toContain('canon.yaml" already exists')
  expect((await runMain(['run', 'init', '-f', 'canon.yaml', '--force'], { cwd })).code).toBe(0)
})

test('what follows -- is a job, also with the name of a subcommand', async () => {
  const cwd = temporaryFolder()
  const job = 'report: { respond: { model: m, input: Hi }, out: a.txt }'
  writeFiles(cwd, { 'modelgate.yaml': `version: 1\njobs:\n  ${job}\n` })
  const { code, out, err } = await runMain(['run', '--plan', '--', 'report'], { cwd })
  expect([code, out]).toEqual([0, 'new\treport\t1\ta.txt\t\n'])
  expect(err).toContain('run it alone as `run -- report`')
})

test.each([
  ['plan', '--plan'],
  ['status', '--check'],
])('run %s names the flag', async (word, flag) => {
  const cwd = temporaryFolder()
  await runMain(['run', 'init'], { cwd })
  const { code, err } = await runMain(['run', word], { cwd })
  expect(code).toBe(2)
  expect(err).toContain(`There is no job "${word}". Did you mean the flag ${flag}?`)
})
