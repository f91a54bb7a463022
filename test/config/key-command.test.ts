import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runKeyCommand } from '../../src/config/key.ts'
import { Interrupted } from '../../src/errors.ts'
import { configPlace, failureOf } from '../support/config-place.ts'
import { until } from '../support/until.ts'

const env = { PATH: '/usr/bin:/bin', GATE: 'work' }
const source = 'user file config.yaml'

test('what the command prints is the key, without the line break', async () => {
  const { context } = configPlace({ env })
  expect(await runKeyCommand(context, 'printf "%s\\n" "key-of-$GATE"', source)).toBe('key-of-work')
})

test('it starts in the home directory and gets no standard input', async () => {
  const place = configPlace({ env })
  expect(place.scrub(await runKeyCommand(place.context, 'pwd; cat', source))).toBe('HOME')
})

test.each([
  ['exit 3'],
  ['printf secret-key; echo secret-key >&2; exit 1'],
  ['no-such-program-of-secret-key'],
  ['kill -9 $$'],
  ['head -c 100000 /dev/zero'],
])('%s: the message holds neither the command nor what it printed', async (command) => {
  const message = await failureOf(() => runKeyCommand(configPlace({ env }).context, command, source))
  expect(message).not.toContain('secret-key')
  expect(message).toMatchSnapshot()
})

test('a command that hangs is ended after ten seconds', async () => {
  const { context } = configPlace({ env })
  const failure = failureOf(() => runKeyCommand(context, 'exec sleep 1000', source))
  // The command is started after its module has been loaded.
  await until(() => context.clock.pendingTimers === 1)
  await context.clock.advance(9_999)
  expect(context.clock.pendingTimers).toBe(1)
  await context.clock.advance(1)
  expect(await failure).toMatch(
    'key_command_failed (config)\nThe command that should print the API key (user file config.yaml) took longer than 10 seconds.',
  )
})

test('a command that is given up is killed', async () => {
  const { context, home } = configPlace({ env })
  const failure = failureOf(() => runKeyCommand(context, 'echo $$ > pid; exec sleep 1000', source))
  const written = () => (existsSync(join(home, 'pid')) ? readFileSync(join(home, 'pid'), 'utf8') : '')
  await until(() => written().endsWith('\n') && context.clock.pendingTimers === 1, home)
  await context.clock.advance(10_000)
  expect(await failure).toMatch('took longer than 10 seconds')
  await until(() => !isRunning(Number(written())))
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('Ctrl-C ends it', async () => {
  const { context } = configPlace({ env })
  const run = runKeyCommand(context, 'exec sleep 1000', source).catch((error: unknown) => error)
  // The command is started after its module has been loaded.
  await until(() => context.clock.pendingTimers === 1)
  context.abort(new Interrupted('interrupt'))
  expect(await run).toBeInstanceOf(Interrupted)
  expect(context.clock.pendingTimers).toBe(0)
})
