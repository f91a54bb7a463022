import { expect, test } from 'vitest'
import { main } from '../../../src/main.ts'
import { configPlace } from '../../support/config-place.ts'
import { localServer } from '../../support/local-server.ts'
import { questionTerminal } from '../../support/question-terminal.ts'
import { json, readAll, stall } from '../../support/server-replies.ts'
import { testContext } from '../../support/test-context.ts'
import { until as untilSome } from '../../support/until.ts'

const argv = ['init', '--image-model', '-', '--video-model', '-']
const title = '\u001b]0;owned\u0007'

function start(env: Readonly<Record<string, string>> = {}, ...more: readonly string[]) {
  const terminal = questionTerminal()
  const { context } = configPlace({ ...terminal.overrides, env })
  return { ...terminal, ended: main([...argv, ...more], context) }
}

test('what an address answers does not act on the terminal', async () => {
  const server = await localServer([json({ error: { message: `No. ${title}` } }, { status: 500 })])
  const { ended, until, press, shown } = start()
  await until('Address of your gateway')
  press(`${server.url}\r`)
  await until('Correct it')
  press('\x03')
  expect(await ended).toBe(130)
  expect(shown()).toContain('No. ␛]0;owned␇')
  expect(shown()).not.toContain(title)
})

test('ids that could act on the terminal cannot be chosen', async () => {
  const ids = [`bad${title}`, 'x'.repeat(10_000), '\u202ereversed', 'good']
  const list = json({ data: ids.map((id) => ({ id })) })
  const server = await localServer([list, list])
  const env = { MODELGATE_API_KEY: 'some-key', MODELGATE_BASE_URL: server.url }
  const { ended, until, press, shown } = start(env)
  await until('Address of your gateway')
  press('\r')
  await until('As it is')
  press('\r')
  await until('good')
  press('\r')
  expect(await ended).toBe(0)
  expect(shown()).not.toMatch(/owned|xxxxx|reversed/)
})

test('Ctrl-C leaves while an address that says nothing is tried', async () => {
  const server = await localServer([[readAll, stall]])
  const { ended, until, press } = start()
  await until('Address of your gateway')
  press(`${server.url}\r`)
  await untilSome(() => server.isEndless)
  press('\x03')
  expect(await ended).toBe(130)
  await untilSome(() => server.openSockets === 0)
})

test('without a place for the answers nothing is asked', async () => {
  const { overrides, shown } = questionTerminal()
  expect(await main(['init'], testContext({ ...overrides, home: '' }))).toBe(2)
  expect(shown()).toBe('')
})
