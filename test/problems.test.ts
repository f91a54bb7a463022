import { expect, test } from 'vitest'
import { ConfigError, FileError, Interrupted, type ModelgateError, UsageError } from '../src/errors.ts'
import { allInputs, createProblemList, throwProblems } from '../src/problems.ts'

const unreadable = new FileError('permission_denied', '"a.png" cannot be read.', { hint: 'Change it.' })
const wrongFlag = new UsageError('--n must be 1 to 10, not 11.', { hint: 'Use several calls.' })
const wrongFile = new ConfigError('config.yaml:3: timeout must be a number.', { hint: 'See the manual.' })
const otherFile = new ConfigError('config.yaml:4: retry has no value.', { hint: 'See the manual.' })

function thrownBy(...problems: ModelgateError[]): ModelgateError {
  try {
    throwProblems(problems)
  } catch (error) {
    return error as ModelgateError
  }
  throw new Error('Nothing was thrown.')
}

const report = ({ exitCode, code, message, facts }: ModelgateError) => ({ exitCode, code, message, facts })

test('no problems are no error', () => {
  expect(throwProblems([])).toBeUndefined()
  expect(createProblemList().throwIfAny()).toBeUndefined()
})

test('a single problem is thrown as it is; nothing was sent', () => {
  expect(thrownBy(wrongFlag, wrongFlag)).toBe(wrongFlag)
  expect(thrownBy(unreadable)).toMatchObject({ code: 'permission_denied', facts: { billed: 'no' } })
})

test('several problems are listed, each with its hint; a mistake outranks an unreadable file', () => {
  const problems = '"a.png" cannot be read. Change it.\n--n must be 1 to 10, not 11. Use several calls.'
  const { facts, ...thrown } = report(thrownBy(unreadable, wrongFlag, unreadable))
  expect(thrown).toEqual({ exitCode: 2, code: 'usage', message: problems })
  expect(facts.hint).toBeUndefined()
})

test('a hint that problems share is the hint of the whole, also when a list is among other problems', () => {
  const list = thrownBy(wrongFile, otherFile)
  expect(list).toBeInstanceOf(UsageError)
  const of = { exitCode: 2, code: 'config_invalid' }
  const facts = { phase: 'config', billed: 'no', hint: 'See the manual.' }
  const both = `${wrongFile.message}\n${otherFile.message}`
  expect(report(list)).toMatchObject({ ...of, message: both, facts })
  expect(report(thrownBy(list, wrongFlag))).toMatchObject({
    ...of,
    message: `${both}\n--n must be 1 to 10, not 11. Use several calls.`,
    facts: { phase: 'input', hint: 'See the manual.' },
  })
})

test('a list collects what checks throw and what is added, and no other errors', async () => {
  const problems = createProblemList()
  expect(await problems.check(() => 5)).toBe(5)
  expect(problems.any).toBe(false)
  expect(await problems.check(() => Promise.reject(wrongFlag))).toBeUndefined()
  problems.add(wrongFile)
  expect(problems.any).toBe(true)
  const signal = new Interrupted('interrupt')
  await expect(problems.check(() => Promise.reject(signal))).rejects.toBe(signal)
  expect(() => problems.throwIfAny()).toThrow(/^--n .*\nconfig\.yaml:3: .*$/)
})

test('a list with a limit keeps no more than that', () => {
  const problems = createProblemList(2)
  for (const key of ['a', 'b', 'c', 'd']) problems.add(new ConfigError(`${key} is not a setting.`))
  expect(problems.isFull).toBe(true)
  expect(() => problems.throwIfAny()).toThrow('a is not a setting.\nb is not a setting.\n… and more.')
})

test('all inputs are waited for; an error that is no problem of the input comes first', async () => {
  expect(await allInputs([Promise.resolve(1), Promise.resolve(2)])).toEqual([1, 2])
  const both = allInputs([Promise.reject(unreadable), Promise.resolve(1), Promise.reject(wrongFlag)])
  await expect(both).rejects.toThrow(`${unreadable.message} Change it.\n${wrongFlag.message}`)
  const bug = new TypeError('a bug')
  await expect(allInputs([Promise.reject(wrongFlag), Promise.reject(bug)])).rejects.toBe(bug)
})
