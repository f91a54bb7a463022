import { expect, test } from 'vitest'
import type { Scenario } from './scenario.ts'
import { failedGenerations } from './scenarios/failed-generations.ts'
import { localTrouble } from './scenarios/local-trouble.ts'
import { signals } from './scenarios/signals.ts'
import { successes } from './scenarios/successes.ts'
import { expectAttempts, runScenario } from './run-scenario.ts'
import { textStyles } from './text-styles.ts'
import { sample } from '../support/sample.ts'

const scenarios: readonly Scenario[] = [...successes, ...failedGenerations, ...localTrouble, ...signals]

const cases = scenarios.flatMap((scenario) =>
  Object.values(textStyles)
    .filter(({ name }) => scenario.only === undefined || scenario.only === name)
    .map((style) => [`${scenario.exit} ${style.name}: ${scenario.name}`, scenario, style] as const),
)

/** Where the same is told in another form. */
const some = sample(cases, { quick: 0.2, ci: Infinity }, ([name]) => name)

test.each(cases)('%s', async (_, scenario, style) => {
  const { context, exitCode, server, waits } = await runScenario(scenario, style, [])
  expect({ exitCode, stdout: context.stdout.text, waits }).toEqual({
    exitCode: scenario.exit,
    stdout: scenario.stdout ?? '',
    waits: scenario.waits ?? [],
  })
  const problems = context.stderr.text.split('\n').filter((line) => line.startsWith('modelgate: '))
  expect(problems.length).toBe(scenario.says === undefined ? 0 : 1)
  expect(problems.join('')).toMatch(scenario.says ?? /^$/)
  expect(context.stderr.text).toContain(scenario.adds ?? '')
  expectAttempts(server, scenario, style)
})

test.each(some.filter(([, { exit }]) => exit !== 0))('%s, as JSON', async (_, scenario, style) => {
  const { context, exitCode, server } = await runScenario(scenario, style, ['--json'])
  expect({ exitCode, stdout: context.stdout.text }).toEqual({ exitCode: scenario.exit, stdout: '' })
  const lines = context.stderr.text.trimEnd().split('\n')
  const documents = lines.filter((line) => line.startsWith('{'))
  expect(documents.length).toBe(1)
  const { error } = JSON.parse(documents[0]!) as { error: unknown }
  expect(error).toMatchObject({
    exit_code: scenario.exit,
    message: expect.stringMatching(scenario.says ?? ''),
    ...scenario.error,
  })
  expectAttempts(server, scenario, style)
})

test.each(some)('%s, as JSON lines', async (_, scenario, style) => {
  const { context, exitCode, server } = await runScenario(scenario, style, ['--jsonl'])
  expect(exitCode).toBe(scenario.exit)
  const lines = context.stdout.text.trimEnd().split('\n')
  const events = lines.map((line) => JSON.parse(line) as { type: string; text?: string })
  const types = events.map(({ type }) => type)
  // A call that is wrong in itself never starts.
  expect(types.length === 1 ? 'start' : types[0]).toBe('start')
  expect(types.filter((type) => type === 'end' || type === 'error')).toEqual([types.at(-1)])
  const words = events.map(({ type, text }) => (type === 'text-delta' ? text : '')).join('')
  expect(words).toBe((scenario.stdout ?? '').replace(/\n$/, ''))
  expect(events.at(-1)).toMatchObject(
    scenario.exit === 0
      ? { type: 'end', text: words }
      : { type: 'error', error: { exit_code: scenario.exit, ...scenario.error } },
  )
  expectAttempts(server, scenario, style)
})
