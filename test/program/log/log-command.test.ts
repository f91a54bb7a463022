import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { callsFolder } from '../../../src/files/calls/call-book.ts'
import { recordCall, type RecordedCall } from '../../support/call-records.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { runMain } from '../../support/run-main.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'

const day = 86_400_000
/** Local noon, so that days are the same in every zone. */
const now = new Date(2026, 10, 22, 12).getTime()

/** Calls on record, the oldest first, the first one with the id `0001aaaa…`; and a program to look at them. */
async function place(calls: readonly (RecordedCall & { readonly ago?: number })[]) {
  const home = temporaryFolder()
  const state = join(home, '.local/state/modelgate')
  for (const [at, { ago = 1000, ...call }] of calls.entries()) {
    const id = String(at + 1)
      .padStart(4, '0')
      .padEnd(16, 'a')
    const words = { arguments: ['generate', call.prompt ?? 'Hello'], prompt: 'Hello' }
    await recordCall(state, { id, cwd: home, ...words, ...call }, now - ago)
  }
  const clock = { ...fakeClock(), now: () => now }
  const run = (...words: string[]) => runMain(words, { home, env: { MODELGATE_STATE_DIR: state }, clock })
  return {
    run,
    folder: callsFolder(state),
    /** The numbers in the ids, the newest first. */
    async numbers(...words: string[]) {
      const { out } = await run('log', ...words, '--json')
      return (JSON.parse(out) as { calls: { id: string }[] }).calls.map(({ id }) => Number(id.slice(0, 4)))
    },
  }
}

test('the newest calls are listed first, twenty unless more are wanted', async () => {
  const { numbers } = await place(Array.from({ length: 25 }, () => ({})))
  expect(await numbers('-n', '3')).toEqual([25, 24, 23])
  expect(await numbers()).toHaveLength(20)
  expect(await numbers('--limit', '0')).toHaveLength(25)
})

test('filters choose by what was said, command, model and time', async () => {
  const { numbers } = await place([
    { prompt: 'A paper BOAT', command: 'image create', ago: 3 * day },
    { prompt: 'Hello', reply: { text: 'A boat says "hi"' }, ago: 2 * day },
    { command: 'image edit', model: 'image-model-a', ago: day },
    { command: 'wait', files: [{ path: '/x/boat.mp4', bytes: 1, sha256: 'a'.repeat(64), format: 'mp4' }] },
    { error: { code: 'x', message: 'No boat today.', billed: 'no' }, exit_code: 9 },
  ])
  expect(await numbers('--grep', 'boat')).toEqual([5, 4, 2, 1])
  expect(await numbers('--grep', 'says "HI"')).toEqual([2])
  expect(await numbers('--grep', 'duration_ms')).toEqual([])
  expect(await numbers('--command', 'image')).toEqual([3, 1])
  expect(await numbers('--command', 'image create')).toEqual([1])
  expect(await numbers('--command', 'imag')).toEqual([])
  expect(await numbers('-m', 'image-model-a')).toEqual([3])
  expect(await numbers('--since', '2d')).toEqual([5, 4, 3, 2])
  expect(await numbers('--since', 'today')).toEqual([5, 4])
  expect(await numbers('--since', 'yesterday', '--command', 'image')).toEqual([3])
})

const noArgument = (word: string) => `modelgate log takes no argument "${word}".\n  hint: To s`
const noId = (word: string) =>
  `"${word}" is not the id of a call, or the beginning of one.\n  hint: See the ids with`

test.each([
  ['log 3fa9c2d1', `${noArgument('3fa9c2d1')}ee that call: modelgate log show 3fa9c2d1`],
  ['log boat', `${noArgument('boat')}earch for a text: modelgate log --grep TEXT`],
  ['log -n x', '--limit must be a whole number from 0, not "x".'],
  ['log --since soon', '--since must be a date or time'],
  ['log show 1', `${noId('1')}: modelgate log`],
  ['log show last', noId('last')],
  ['log show ffff', 'There is no call ffff in the log.\n  hint: See them with: modelgate log'],
  [
    'log clear',
    'modelgate log clear asks before it forgets anything, and there is no terminal to ask on.\n  hint: Add --force.',
  ],
  ['log --dry-run', "unknown option '--dry-run'"],
])('%s is refused', async (words, message) => {
  const { code, err } = await (await place([{}])).run(...words.split(' '))
  expect([code, err]).toEqual([2, expect.stringContaining(message)])
})

test('a call is found by its id or the beginning of that, and the last one without', async () => {
  const { run } = await place([
    { id: 'aaaa000000000000', prompt: 'oldest' },
    { id: 'aabb000000000000', prompt: 'newest' },
    { id: 'aabb000000000001', prompt: 'last' },
  ])
  const shown = async (...name: string[]) =>
    JSON.parse((await run('log', 'show', ...name, '--json')).out).call.prompt as string
  expect(await shown()).toBe('last')
  expect(await shown('aaaa')).toBe('oldest')
  expect(await shown('aabb000000000000')).toBe('newest')
  const { code, err } = await run('log', 'show', 'aabb')
  expect([code, err]).toEqual([2, expect.stringContaining('Several calls have ids that begin with aabb.')])
})

test('what has become of the files of a call', async () => {
  const folder = temporaryFolder()
  writeFiles(folder, { same: 'hello', other: 'HELLO', longer: 'hello!', 'folder/x': '' })
  const sha256 = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'
  const names = ['same', 'other', 'longer', 'folder', 'gone']
  const files = names.map((name) => ({ path: join(folder, name), bytes: 5, sha256, format: 'txt' }))
  const { run } = await place([{ files }])
  const { call } = JSON.parse((await run('log', 'show', '--json')).out) as {
    call: { files: { state: string }[] }
  }
  const states = ['unchanged', 'changed', 'changed', 'changed', 'missing']
  expect(call.files.map(({ state }) => state)).toEqual(states)
})

test('calls are forgotten, and nothing else', async () => {
  const { run, numbers, folder } = await place([{ ago: 3 * day }, { ago: 2 * day }, {}])
  const forgotten = { code: 0, out: '', err: '2 calls forgotten.\n' }
  expect(await run('log', 'clear', '--before', 'yesterday', '--force')).toMatchObject(forgotten)
  expect(await numbers()).toEqual([3])
  const { out } = await run('log', 'clear', '--force', '--json')
  expect(JSON.parse(out)).toMatchObject({ command: 'log clear', removed: 1 })
  expect(readFileSync(join(folder, '2026-11.jsonl'), 'utf8').trim()).toBe('')
  expect(readdirSync(join(folder, 'words'))).toEqual([])
  expect((await run('log', 'clear')).err).toBe('Nothing to forget.\n')
})
