import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { obeySignals, type SignalProcess } from '../../src/context/signals.ts'
import type { Interrupted } from '../../src/errors.ts'
import { fakeClock } from '../support/fake-clock.ts'

/** A process that survives its own signals, so that everything it would do is seen. */
function start({ platform = 'linux' as NodeJS.Platform, cleanUpMs = 0 } = {}) {
  const clock = fakeClock()
  const deeds: string[] = []
  const listeners = new EventEmitter()
  const host: SignalProcess = {
    pid: 7,
    platform,
    exitCode: undefined,
    on: (name, listener) => listeners.on(name, listener),
    removeAllListeners: (name) => listeners.removeAllListeners(name),
    kill: (pid, name) => deeds.push(`kill ${pid} ${name}, ${listeners.listenerCount(name)} listeners`),
    exit: (code) => deeds.push(`exit ${code}`),
  }
  const reasons: Interrupted[] = []
  const end = obeySignals(host, clock, (reason: Interrupted) => {
    reasons.push(reason)
    deeds.push(`abort ${reason.exitCode}`)
    if (cleanUpMs > 0) reason.cleanUpMs = cleanUpMs
  })
  return {
    clock,
    deeds,
    host,
    end,
    reasons,
    signal: (name: NodeJS.Signals) => listeners.emit(name),
  }
}

const deathOf = (name: string, code: number) => [`kill 7 ${name}, 0 listeners`, `exit ${code}`]

test.each([
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s aborts, and is died of once the output is flushed', async (name, code) => {
  const { deeds, host, end, signal } = start()
  signal(name)
  expect(deeds).toEqual([`abort ${code}`])
  await end(code, async () => deeds.push('flush'))
  expect(deeds).toEqual([`abort ${code}`, 'flush', ...deathOf(name, code)])
  expect(host.exitCode).toBe(code)
})

test('whatever the command ended with, the signal that it got is what it dies of', async () => {
  const { deeds, end, signal } = start()
  signal('SIGINT')
  await end(0, async () => {})
  expect(deeds.slice(1)).toEqual(deathOf('SIGINT', 130))
})

test('a command that only a signal ends can have an exit code of its own', async () => {
  const { deeds, end, signal, reasons } = start()
  signal('SIGTERM')
  reasons[0]!.isExpected = true
  await end(12, async () => deeds.push('flush'))
  expect(deeds.slice(1)).toEqual(['flush', 'exit 12'])
})

test('a command can take longer to clean up, if it says so at once', async () => {
  const { clock, deeds, signal } = start({ cleanUpMs: 6_000 })
  signal('SIGINT')
  await clock.advance(5_999)
  expect(deeds).toEqual(['abort 130'])
  await clock.advance(1)
  expect(deeds).toEqual(['abort 130', ...deathOf('SIGINT', 130)])
})

test('a second signal ends the process at once', async () => {
  const { clock, deeds, signal } = start()
  signal('SIGINT')
  await clock.advance(200)
  expect(deeds).toEqual(['abort 130'])
  signal('SIGINT')
  expect(deeds).toEqual(['abort 130', ...deathOf('SIGINT', 130)])
})

test('a second signal of another kind ends it even sooner, of that kind', () => {
  const { deeds, signal } = start()
  signal('SIGINT')
  signal('SIGTERM')
  expect(deeds).toEqual(['abort 130', ...deathOf('SIGTERM', 143)])
})

test('the copy of Ctrl-C that npm passes on is no second one', async () => {
  const { clock, deeds, signal } = start()
  signal('SIGINT')
  await clock.advance(199)
  signal('SIGINT')
  expect(deeds).toEqual(['abort 130'])
})

test('a command that does not end within a second of the signal is ended', async () => {
  const { clock, deeds, signal } = start()
  signal('SIGTERM')
  await clock.advance(999)
  expect(deeds).toEqual(['abort 143'])
  await clock.advance(1)
  expect(deeds).toEqual(['abort 143', ...deathOf('SIGTERM', 143)])
})

test('Windows, which knows no such death, gets the number', async () => {
  const { deeds, end, signal } = start({ platform: 'win32' })
  signal('SIGINT')
  await end(130, async () => {})
  expect(deeds).toEqual(['abort 130', 'exit 130'])
})

test('Ctrl-C that came as a key, at a question, ends like the signal', async () => {
  const { deeds, end } = start()
  await end(130, async () => {})
  expect(deeds).toEqual(deathOf('SIGINT', 130))
})

test('without a signal only the exit code is set; one that comes then is died of at once', async () => {
  const { deeds, host, end, signal } = start()
  await end(7, async () => deeds.push('flush'))
  expect([deeds, host.exitCode]).toEqual([[], 7])
  signal('SIGINT')
  expect(deeds).toEqual(deathOf('SIGINT', 130))
})

test('on Windows Ctrl-Break ends as SIGTERM does, and nothing is killed, since there are no signals', async () => {
  const { deeds, host, end, signal } = start({ platform: 'win32' })
  signal('SIGBREAK')
  await end(0, async () => deeds.push('flush'))
  expect(deeds).toEqual(['abort 143', 'flush', 'exit 143'])
  expect(host.exitCode).toBe(143)
})
