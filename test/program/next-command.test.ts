import { expect, test } from 'vitest'
import { json, type ServerReply } from '../support/server-replies.ts'
import { answeredBy } from './workspace.ts'

const { given } = answeredBy()

/** How a call fails, and the words that its error says to use next. */
async function failureOf(argv: readonly string[], replies: readonly ServerReply[] = [], more = {}) {
  const { run } = await given(...replies)
  const { code, err } = await run([...argv, '--json'], more)
  const { error } = JSON.parse(err.trimEnd().split('\n').at(-1)!)
  return { code, hint: error.hint as string, next: error.next?.join(' ') as string | undefined }
}

test.each([
  ['vidoe status', 'modelgate video status --json'],
  ['job', 'modelgate jobs --json'],
  ['history', 'modelgate log --json'],
  ['image generate x', 'modelgate image create x --json'],
  ['respond --max-tokens 5 x', 'modelgate respond --max-output-tokens 5 x --json'],
  ['video generate --seconds=4 x', 'modelgate video generate --duration-seconds=4 x --json'],
  ['generate --modle a x', 'modelgate generate --model a x --json'],
  ['help video stauts', 'modelgate help video status'],
  // Nothing is suggested.
  ['generate --api-key sk-1 x', undefined],
  ['generate --api-key-fiel sk-1 x', undefined],
  ['zzzzzz', undefined],
  ['generate --nonsense x', undefined],
  ['generate --timeout soon x', undefined],
])('a near miss leads to what was meant: %s', async (line, next) => {
  expect(await failureOf(line.split(' '))).toMatchObject({ code: 2, next })
})

test('where nothing is set up, init is next', async () => {
  const env = { MODELGATE_BASE_URL: undefined, MODELGATE_API_KEY: undefined }
  const failure = await failureOf(['generate', '-m', 'a', 'x'], [], { env })
  expect(failure).toMatchObject({ code: 2, next: 'modelgate init' })
})

test('a job that runs leads to the command that waits for it, and the hint names the same', async () => {
  const running = json({ id: 'video_1', object: 'video', status: 'in_progress' })
  expect(await failureOf(['video', 'remix', '-m', 'm', 'video_1', 'Make it night'], [running])).toEqual({
    code: 2,
    hint: 'Wait for it first: modelgate wait video_1 (--no-check sends it anyway.)',
    next: 'modelgate wait video_1',
  })
})

const busy = json({}, { status: 503, headers: { 'retry-after': '300' } })

test.each([
  [
    'the gateway did not accept leads to the same call',
    'boat',
    busy,
    5,
    'modelgate image create boat --json',
  ],
  ['it did not accept, and was piped in, is gone', '-', busy, 5, undefined],
  ['has an outcome that is not known may have been billed', 'boat', json({}, { status: 502 }), 7, undefined],
])('what %s', async (_, prompt, reply, code, next) => {
  const more = prompt === '-' ? { stdin: 'boat' } : {}
  expect(await failureOf(['image', 'create', prompt], [reply], more)).toMatchObject({ code, next })
})
