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
    reasons,
    end: (code: number) => end(code, async () => deeds.push('flush')),
    signal: (name: NodeJS.Signals) => listeners.emit(name),
  }
}

const deathOf = (name: string, code: number) => [`kill 7 ${name}, 0 listeners`, `exit ${code}`]

test.each([
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s aborts, and is died of, whatever the command ended with', async (name, code) => {
  for (const ended of [code, 0]) {
    const { deeds, end, signal } = start()
    signal(name)
    expect(deeds).toEqual([`abort ${code}`])
    await end(ended)
    expect(deeds).toEqual([`abort ${code}`, 'flush', ...deathOf(name, code)])
  }
})

test('a command that only a signal ends can have an exit code of its own', async () => {
  const { deeds, end, signal, reasons } = start()
  signal('SIGTERM')
  reasons[0]!.isExpected = true
  await end(12)
  expect(deeds.slice(1)).toEqual(['flush', 'exit 12'])
})

test.each([
  [0, 1_000],
  [6_000, 6_000],
])('with %i ms to clean up a command is ended %i ms after the signal', async (cleanUpMs, limit) => {
  const { clock, deeds, signal } = start({ cleanUpMs })
  signal('SIGTERM')
  await clock.advance(limit - 1)
  expect(deeds).toEqual(['abort 143'])
  await clock.advance(1)
  expect(deeds).toEqual(['abort 143', ...deathOf('SIGTERM', 143)])
})

test.each<[string, NodeJS.Signals, number, readonly string[]]>([
  ['ends the process at once', 'SIGINT', 200, deathOf('SIGINT', 130)],
  ['of another kind ends it even sooner, of that kind', 'SIGTERM', 0, deathOf('SIGTERM', 143)],
  ['that is the copy of Ctrl-C which npm passes on is none', 'SIGINT', 199, []],
])('a second signal %s', async (_, second, ms, death) => {
  const { clock, deeds, signal } = start()
  signal('SIGINT')
  await clock.advance(ms)
  expect(deeds).toEqual(['abort 130'])
  signal(second)
  expect(deeds).toEqual(['abort 130', ...death])
})

test.each([
  ['SIGINT', 130],
  ['SIGBREAK', 143],
] as const)('Windows, which knows no such death, gets the number: %s is %i', async (name, code) => {
  const { deeds, host, end, signal } = start({ platform: 'win32' })
  signal(name)
  await end(0)
  expect(deeds).toEqual([`abort ${code}`, 'flush', `exit ${code}`])
  expect(host.exitCode).toBe(code)
})

test('Ctrl-C that came as a key, at a question, ends like the signal', async () => {
  const { deeds, end } = start()
  await end(130)
  expect(deeds).toEqual(['flush', ...deathOf('SIGINT', 130)])
})

test('without a signal only the exit code is set; one that comes then is died of at once', async () => {
  const { deeds, host, end, signal } = start()
  await end(7)
  expect([deeds, host.exitCode]).toEqual([[], 7])
  signal('SIGINT')
  expect(deeds).toEqual(deathOf('SIGINT', 130))
})
