import { readFileSync, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { projectRoot } from '../support/pages.ts'
import type { Json } from '../support/running-sandbox.ts'

const folder = new URL('.github/workflows/', projectRoot)
const workflows = readdirSync(folder).map((name) => {
  const text = readFileSync(new URL(name, folder), 'utf8')
  return { name, text, workflow: parse(text) as Json }
})
const jobs = workflows.flatMap(({ name, workflow }) =>
  Object.entries<Json>(workflow.jobs).map(([job, definition]) => ({
    name: `${name}: ${job}`,
    job: definition,
  })),
)

test.each(workflows)('actions of $name are pinned by commit, with the version beside it', ({ text }) => {
  const uses = text.split('\n').filter((line) => /\buses: (?!\.\/)/.test(line))
  expect(uses).not.toEqual([])
  expect(uses.filter((line) => !/uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([])
})

test('an action has the same commit everywhere', () => {
  const commits = new Map<string, Set<string>>()
  for (const { text } of workflows)
    for (const [, action = '', commit = ''] of text.matchAll(/uses: ([\w/-]+)@([0-9a-f]{40})/g))
      commits.set(action, (commits.get(action) ?? new Set()).add(commit))
  expect([...commits].filter(([, known]) => known.size !== 1)).toEqual([])
})

test.each(workflows)('$name may do nothing that a job of it has not asked for', ({ workflow }) => {
  expect([{}, { contents: 'read' }]).toContainEqual(workflow.permissions)
  expect(workflow.concurrency).toBeDefined()
})

test.each(jobs)('$name ends, and its parts do not cancel each other', ({ job }) => {
  // What runs in another workflow ends as that says.
  expect(job.uses === undefined ? job['timeout-minutes'] : 0).toBeLessThanOrEqual(60)
  expect(job.strategy?.['fail-fast'] ?? false).toBe(false)
})

test.each(jobs)('no script of $name has values of the event in its text', ({ job }) => {
  expect((job.steps ?? []).filter(({ run }: Json) => run?.includes('${{'))).toEqual([])
})

test('of a release only those jobs may write that publish', () => {
  const { workflow } = workflows.find(({ name }) => name === 'release.yml')!
  const writing = Object.entries<Json>(workflow.jobs).flatMap(([name, { permissions = {} }]) => {
    const rights = Object.keys(permissions).filter((right) => permissions[right] === 'write')
    return rights.length === 0 ? [] : [[name, ...rights]]
  })
  expect(writing).toEqual([
    // It tells of a red night, which a release is not.
    ['nightly', 'issues'],
    ['draft', 'contents', 'id-token', 'attestations'],
    ['npm', 'id-token'],
    ['image', 'packages', 'id-token', 'attestations'],
    ['publish', 'contents'],
  ])
})
