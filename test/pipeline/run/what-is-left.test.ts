import { expect, test } from 'vitest'
import type { RunInstance } from '../../../src/events/run-document.ts'
import { whatIsLeft } from '../../../src/pipeline/run/what-is-left.ts'
import { failedInstance, sampleInstance } from '../../support/run-samples.ts'

const next = (...words: string[]) => ['modelgate', 'run', ...words, '-f', 'canon.yaml']
const instance = (id: string, state: RunInstance['state']): RunInstance => ({
  ...sampleInstance,
  instance: id,
  state,
  action: null,
})
const commandFor = (state: RunInstance['state'], generating: readonly string[] = []) =>
  whatIsLeft([instance('hero', state)], next, generating)[0]!.next?.slice(2, -2)

test('what is fresh is not left, and the worst comes first', () => {
  const states = ['new', 'fresh', 'awaiting', 'unknown', 'changed', 'new'] as const
  const left = whatIsLeft([...states.map((state, at) => instance(`job-${at}`, state)), failedInstance], next)
  expect(left.map(({ state, instances }) => [state, ...instances])).toEqual([
    ['unknown', 'job-3'],
    ['failed', 'banner'],
    ['changed', 'job-4'],
    ['awaiting', 'job-2'],
    ['new', 'job-0', 'job-5'],
  ])
})

test.each<[RunInstance['state'], string[] | undefined]>([
  ['unknown', ['--regenerate', 'hero']],
  ['lost', ['--regenerate', 'hero']],
  ['rejected', ['--regenerate', 'hero']],
  ['changed', ['adopt', 'hero']],
  ['in_the_way', ['adopt', 'hero']],
  ['awaiting', ['report']],
  ['stale', ['hero']],
  ['restorable', ['hero']],
  ['blocked', undefined],
])('what is %s has a command of its own', (state, words) => {
  expect(commandFor(state)).toEqual(words)
})

test('where a run does not generate by itself, the command says so, if it has to', () => {
  expect(commandFor('new', ['--generate'])).toEqual(['--generate', 'hero'])
  expect(commandFor('lost', ['--generate'])).toEqual(['--generate', '--regenerate', 'hero'])
  expect(commandFor('changed', ['--generate'])).toEqual(['adopt', 'hero'])
  expect(commandFor('restorable', ['--generate'])).toEqual(['hero'])
})

test('the other way on is a command of the same manifest, quoted for a shell', () => {
  const [kept, waiting] = whatIsLeft([instance('a[x y]', 'changed'), instance('hero', 'awaiting')], next)
  expect(kept!.message).toBe(
    "Not as it was locked. Adopt the file to keep it as it is, or put it aside and go on with: modelgate run --force 'a[x y]' -f canon.yaml.",
  )
  expect(waiting!.message).toBe(
    'Made, and waits for a choice. Look at the candidates, then choose one, such as the second, with: modelgate run pick hero 2 -f canon.yaml.',
  )
})

test('a command names no more than twenty, and says so', () => {
  const [group] = whatIsLeft(
    Array.from({ length: 50 }, (_, at) => instance(`p${at}`, 'lost')),
    next,
  )
  expect(group!.instances).toHaveLength(50)
  expect(group!.next).toHaveLength(2 + 40 + 2)
  expect(group!.message).toContain('The command names the first 20 of 50.')
})
