import { expect, test } from 'vitest'
import type { RunInstance } from '../../../src/events/run-document.ts'
import { whatIsLeft } from '../../../src/pipeline/run/describe.ts'
import { failedInstance, sampleInstance } from '../../support/run-samples.ts'

const next = (...words: string[]) => ['modelgate', 'run', ...words, '-f', 'canon.yaml']
const unmade = { ...sampleInstance, action: null }
const instance = (id: string, state: RunInstance['state']) => ({ ...unmade, instance: id, state })
const named = { next, generating: [], again: null }
const commandsFor = (state: RunInstance['state'], changes: Partial<Parameters<typeof whatIsLeft>[1]> = {}) =>
  whatIsLeft([instance('hero', state)], { ...named, ...changes })[0]!.commands.map((words) =>
    words.slice(2, -2).join(' '),
  )

test('what is fresh is not left, and the worst comes first', () => {
  const states = ['new', 'fresh', 'awaiting', 'unknown', 'changed', 'new'] as const
  const left = whatIsLeft([...states.map((state, at) => instance(`job-${at}`, state)), failedInstance], named)
  expect(left.map(({ state, instances }) => [state, ...instances])).toEqual([
    ['unknown', 'job-3'],
    ['failed', 'banner'],
    ['changed', 'job-4'],
    ['awaiting', 'job-2'],
    ['new', 'job-0', 'job-5'],
  ])
})

const generating = ['--generate']

test.each<[RunInstance['state'], Parameters<typeof commandsFor>[1], string[]]>([
  ['unknown', {}, ['--regenerate hero']],
  ['lost', {}, ['--regenerate hero']],
  ['rejected', {}, ['--regenerate hero']],
  ['changed', {}, ['adopt hero', '--force hero']],
  ['in_the_way', {}, ['adopt hero', '--force hero']],
  ['awaiting', {}, ['report', 'pick hero 2']],
  ['stale', {}, ['hero']],
  ['restorable', {}, ['hero']],
  ['blocked', {}, []],
  // Where a run does not generate by itself, the command says so, if it has to.
  ['new', { generating }, ['--generate hero']],
  ['lost', { generating }, ['--generate --regenerate hero']],
  ['changed', { generating }, ['adopt hero', '--force hero']],
  ['restorable', { generating }, ['hero']],
  // What a run makes needs no names, where the same run does it.
  ['new', { again: [] }, ['']],
  ['pending', { again: ['--shard', '2/5'] }, ['--shard 2/5']],
  ['lost', { again: [] }, ['--regenerate hero']],
])('what is %s has commands of its own, with %j', (state, changes, commands) => {
  expect(commandsFor(state, changes)).toEqual(commands)
})

test.each([
  ['lost', 20 * 2],
  ['stale', 20],
] as const)('a command names no more than twenty that are %s, and says so', (state, words) => {
  const many = Array.from({ length: 50 }, (_, at) => instance(`p${at}`, state))
  const [group] = whatIsLeft(many, named)
  expect(group!.instances).toHaveLength(50)
  expect(group!.commands[0]).toHaveLength(2 + words + 2)
  expect(group!.message).toContain('The command names the first 20 of 50.')
})
