import { expect, test } from 'vitest'
import type { ExitName } from '../../src/errors.ts'
import { exitOfRun } from '../../src/pipeline/run-exit.ts'

test.each<[ExitName[], ExitName]>([
  [[], 'ok'],
  [['ok', 'ok'], 'ok'],
  [['ok', 'later'], 'later'],
  [['notSent', 'later'], 'later'],
  [['notSent', 'ok'], 'notSent'],
  [['later', 'outdated'], 'outdated'],
  [['outdated', 'partial'], 'partial'],
  [['partial', 'limit'], 'limit'],
  [['limit', 'unknown'], 'unknown'],
  [['unknown', 'io'], 'io'],
  [['io', 'key'], 'key'],
  [['key', 'usage'], 'usage'],
  [['usage', 'bug'], 'bug'],
  [['usage', 'terminate'], 'terminate'],
  [['failed'], 'partial'],
  [['rejected', 'later'], 'partial'],
  [['contract', 'outdated'], 'partial'],
  [['schema'], 'partial'],
  [['running', 'later', 'outdated'], 'running'],
  [['partial', 'running'], 'partial'],
])('%j end as %s', (ends, exit) => {
  expect(exitOfRun(ends)).toBe(exit)
  expect(exitOfRun(ends.toReversed())).toBe(exit)
})
