import { expect, test } from 'vitest'
import type { Kill } from './kill.ts'
import { brokenReplies } from './kills/broken-replies.ts'
import { failedGenerations } from './kills/failed-generations.ts'
import { localTrouble } from './kills/local-trouble.ts'
import { lostReplies } from './kills/lost-replies.ts'
import { notSent } from './kills/not-sent.ts'
import { refusals } from './kills/refusals.ts'
import { signals } from './kills/signals.ts'
import { successes } from './kills/successes.ts'
import { tryLater } from './kills/try-later.ts'
import { expectAttempts, play } from './play-kill.ts'
import { textStyles } from './text-styles.ts'

const kills: readonly Kill[] = [
  ...successes,
  ...notSent,
  ...refusals,
  ...tryLater,
  ...lostReplies,
  ...brokenReplies,
  ...failedGenerations,
  ...localTrouble,
  ...signals,
]

const cases = kills.flatMap((kill) =>
  Object.values(textStyles)
    .filter(({ name }) => kill.only === undefined || kill.only === name)
    .map((style) => [`${kill.exit} ${style.name}: ${kill.name}`, kill, style] as const),
)

test.each(cases)('%s', async (_, kill, style) => {
  const { context, exitCode, server, waits } = await play(kill, style, [])
  expect({ exitCode, stdout: context.stdout.text, waits }).toEqual({
    exitCode: kill.exit,
    stdout: kill.stdout ?? '',
    waits: kill.waits ?? [],
  })
  const problems = context.stderr.text.split('\n').filter((line) => line.startsWith('modelgate: '))
  expect(problems.length).toBe(kill.says === undefined ? 0 : 1)
  expect(problems.join('')).toMatch(kill.says ?? /^$/)
  expect(context.stderr.text).toContain(kill.adds ?? '')
  expectAttempts(server, kill, style)
})

test.each(cases.filter(([, { exit }]) => exit !== 0))('%s, as JSON', async (_, kill, style) => {
  const { context, exitCode, server } = await play(kill, style, ['--json'])
  expect({ exitCode, stdout: context.stdout.text }).toEqual({ exitCode: kill.exit, stdout: '' })
  const lines = context.stderr.text.trimEnd().split('\n')
  const documents = lines.filter((line) => line.startsWith('{'))
  expect(documents.length).toBe(1)
  const { error } = JSON.parse(documents[0]!) as { error: unknown }
  expect(error).toMatchObject({
    exit_code: kill.exit,
    message: expect.stringMatching(kill.says ?? ''),
    ...kill.error,
  })
  expectAttempts(server, kill, style)
})

test.each(cases)('%s, as JSON lines', async (_, kill, style) => {
  const { context, exitCode, server } = await play(kill, style, ['--jsonl'])
  expect(exitCode).toBe(kill.exit)
  const lines = context.stdout.text.trimEnd().split('\n')
  const events = lines.map((line) => JSON.parse(line) as { type: string; text?: string })
  const types = events.map(({ type }) => type)
  // A call that is wrong in itself never starts.
  expect(types.length === 1 ? 'start' : types[0]).toBe('start')
  expect(types.filter((type) => type === 'end' || type === 'error')).toEqual([types.at(-1)])
  const words = events.map(({ type, text }) => (type === 'text-delta' ? text : '')).join('')
  expect(words).toBe((kill.stdout ?? '').replace(/\n$/, ''))
  expect(events.at(-1)).toMatchObject(
    kill.exit === 0
      ? { type: 'end', text: words }
      : { type: 'error', error: { exit_code: kill.exit, ...kill.error } },
  )
  expectAttempts(server, kill, style)
})
