import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { adoptJobs } from '../../../src/pipeline/changes/adopt.ts'
import { cleanProject } from '../../../src/pipeline/changes/clean.ts'
import { pickCandidate } from '../../../src/pipeline/changes/pick.ts'
import { takeOwnership } from '../../../src/pipeline/journal/owner.ts'
import { projectOf } from '../../../src/pipeline/project.ts'
import { runBench } from '../run/run-bench.ts'

const manifest = `version: 1
jobs:
  note:
    generate: { model: some-text-model, prompt: What is a harbour? }
    out: copy/note.txt
`

test('a file is adopted, and what its former version left is cleaned up', async () => {
  const { folder, call, ...bench } = await runBench({
    'modelgate.yaml': manifest,
    'copy/note.txt': 'A port.\n',
  })
  const document = await adoptJobs(call, ['note'], 'Ada')
  expect(document).toMatchObject({
    version: 1,
    command: 'run adopt',
    folder,
    instances: [{ instance: 'note', variant: null, files: [{ path: join('copy', 'note.txt'), bytes: 8 }] }],
    warnings: [],
  })
  expect(bench.exists('modelgate.lock')).toBe(true)
  bench.write('copy/note.txt', 'A safe place for ships.\n')
  await adoptJobs(call, ['note'], 'Ada')
  const listed = await cleanProject(call, { isRemoving: false, outputs: false })
  expect(listed).toMatchObject({
    command: 'run clean',
    removed: false,
    bytes: 8,
    items: [{ kind: 'replaced' }],
  })
  const blob = join(folder, listed.items[0]!.path)
  expect(existsSync(blob)).toBe(true)
  expect(await cleanProject(call, { isRemoving: true, outputs: false })).toMatchObject({
    removed: true,
    bytes: 8,
  })
  expect(existsSync(blob)).toBe(false)
})

test('nothing is changed while the manifest is being run', async () => {
  const { folder, call } = await runBench({ 'modelgate.yaml': manifest, 'copy/note.txt': 'A port.\n' })
  const project = projectOf(join(folder, 'modelgate.yaml'), false)
  const other = await takeOwnership(project, call.context)
  await expect(adoptJobs(call, ['note'], 'Ada')).rejects.toThrow('is already being run')
  await expect(cleanProject(call, { isRemoving: true, outputs: true })).rejects.toThrow(
    'is already being run',
  )
  expect(existsSync(project.lockPath)).toBe(false)
  await other.release()
  // One that was refused gives the manifest back.
  await expect(pickCandidate(call, 'note', 1)).rejects.toThrow('note has no candidates.')
  expect(await adoptJobs(call, ['note'], 'Ada')).toMatchObject({ instances: [{ instance: 'note' }] })
})
