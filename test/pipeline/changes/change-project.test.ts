import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { adoptJobs, pickCandidate } from '../../../src/pipeline/changes/change-outputs.ts'
import { cleanProject } from '../../../src/pipeline/changes/clean.ts'
import { takeOwnership } from '../../../src/pipeline/journal/owner.ts'
import { projectOf } from '../../../src/pipeline/project.ts'
import { runBench } from '../run/run-bench.ts'

const manifest = `version: 1
jobs:
  note:
    generate: { model: some-text-model, prompt: What is a harbour? }
    out: copy/note.txt
`

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
