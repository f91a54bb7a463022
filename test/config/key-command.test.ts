import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runKeyCommand } from '../../src/config/key.ts'
import { Interrupted } from '../../src/errors.ts'
import { configPlace, failureOf } from '../support/config-place.ts'
import { until } from '../support/until.ts'

const env = { PATH: '/usr/bin:/bin', GATE: 'work' }

test.each([
  ['prints the key, without the line break', 'printf "%s\\n" "key-of-$GATE"', '', 'key-of-work'],
  ['may print as much as the longest key', 'head -c 65536 /dev/zero | tr "\\0" k', '', 'k'.repeat(65_536)],
  ['starts in the home directory and gets no standard input', 'pwd; cat', '', 'HOME'],
  ['starts in the root folder where the home directory does not exist', 'pwd', '/none', '/'],
])('a command %s', async (_, command, below, key) => {
  const place = configPlace({ env })
  const context = { ...place.context, home: place.home + below }
  expect(place.scrub(await runKeyCommand(context, command, 'here'))).toBe(key)
})

test('a command starts in the root folder where no home is known', async () => {
  expect(await runKeyCommand({ ...configPlace({ env }).context, home: '' }, 'pwd', 'here')).toBe('/')
})

test.each([
  ['exit 3', '', 'ended with exit code 3'],
  ['printf secret-key; echo secret-key >&2; exit 1', '', 'ended with exit code 1'],
  ['no-such-program-of-secret-key', '', 'ended with exit code 127'],
  ['kill -9 $$', '', 'was killed by SIGKILL'],
  ['head -c 100000 /dev/zero', '', 'printed far more than a key'],
  ['pwd', '/file', 'could not be started'],
])('%s: the message holds neither the command nor what it printed', async (command, below, problem) => {
  const { context, home } = configPlace({ env, files: { file: '' } })
  const run = () => runKeyCommand({ ...context, home: home + below }, command, 'user file config.yaml')
  expect(await failureOf(run)).toBe(
    `2 key_command_failed (config)\nThe command that should print the API key (user file config.yaml) ${problem}.\n` +
      'hint: Run it by hand in your home directory to see why.',
  )
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a command that hangs is killed after ten seconds', async () => {
  const { context, home } = configPlace({ env })
  const failure = failureOf(() => runKeyCommand(context, 'echo $$ > pid; exec sleep 1000', 'here'))
  const written = () => (existsSync(join(home, 'pid')) ? readFileSync(join(home, 'pid'), 'utf8') : '')
  await until(() => written().endsWith('\n') && context.clock.pendingTimers === 1, home)
  await context.clock.advance(9_999)
  expect(context.clock.pendingTimers).toBe(1)
  await context.clock.advance(1)
  expect(await failure).toMatch(
    'The command that should print the API key (here) took longer than 10 seconds.',
  )
  await until(() => !isRunning(Number(written())))
})

test('Ctrl-C ends it, also before it has begun', async () => {
  const { context } = configPlace({ env })
  const run = runKeyCommand(context, 'exec sleep 1000', 'here').catch((error: unknown) => error)
  // The command is started after its module has been loaded.
  await until(() => context.clock.pendingTimers === 1)
  context.abort(new Interrupted('interrupt'))
  expect(await run).toBeInstanceOf(Interrupted)
  await expect(runKeyCommand(context, 'echo a-key', 'here')).rejects.toBeInstanceOf(Interrupted)
  await until(() => context.clock.pendingTimers === 0)
})
