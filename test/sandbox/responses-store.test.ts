import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fakeClock, type FakeClock } from '../support/fake-clock.ts'
import { call, eventsOf, respond, runningSandbox, until } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('a stored response can be looked up; one that is not stored cannot', async () => {
  const sandbox = await runningSandbox()
  const { json } = await respond(sandbox, 'hi', { store: null })
  const found = await call(sandbox, `/v1/responses/${json.id}`)
  expect(found.json).toEqual(json)
  const unstored = await respond(sandbox, 'hi', { store: false })
  for (const id of [unstored.json.id, 'resp_never']) {
    const { status, json: body } = await call(sandbox, `/v1/responses/${id}`)
    expect([status, body.error.type]).toEqual([404, 'invalid_request_error'])
  }
  expect(sandbox.created()).toBe(2)
})

test('a background response can be cancelled, once; a synchronous one cannot', async () => {
  const clock = fakeClock()
  const sandbox = await runningSandbox({ clock })
  const cancel = async (id: string) => call(sandbox, `/v1/responses/${id}/cancel`, {})
  const running = await respond(sandbox, 'hi', { background: true })
  expect((await cancel(running.json.id)).json.status).toBe('cancelled')
  await clock.advance(10_000)
  expect((await call(sandbox, `/v1/responses/${running.json.id}`)).json.status).toBe('cancelled')
  const ended = await respond(sandbox, 'hi', { background: true })
  await clock.advance(10_000)
  expect((await cancel(ended.json.id)).json.status).toBe('completed')
  const synchronous = await respond(sandbox, 'hi')
  expect((await cancel(synchronous.json.id)).status).toBe(400)
  expect((await cancel('resp_never')).status).toBe(404)
})

/** Lets time pass until a reply has come whole. */
async function inTime<Value>(clock: FakeClock, reply: Promise<Value>): Promise<Value> {
  let isOver = false
  void reply.finally(() => (isOver = true))
  while (!isOver) await clock.advance(10)
  return reply
}

test('a streamed background response begins queued, and a stream can be resumed behind an event', async () => {
  const clock = fakeClock()
  const sandbox = await runningSandbox({ clock })
  const whole = eventsOf(await inTime(clock, respond(sandbox, 'hi', { background: true, stream: true })))
  expect(whole.map(({ sequence_number }) => sequence_number)).toEqual([...whole.keys()])
  const first = whole.slice(0, 3).map(({ type, response }) => `${type} ${response.status}`)
  const queued = ['response.created queued', 'response.queued queued']
  expect(first).toEqual([...queued, 'response.in_progress in_progress'])
  const { id } = whole[0].response
  const rest = await call(sandbox, `/v1/responses/${id}?stream=true&starting_after=5`)
  expect(eventsOf(rest)).toEqual(whole.slice(6))
  expect((await call(sandbox, `/v1/responses/${id}`)).json).toEqual(whole.at(-1).response)
})

test('a stream that is read later keeps time with the response, and ends when that is cancelled', async () => {
  const clock = fakeClock()
  const sandbox = await runningSandbox({ clock })
  const { id } = (await respond(sandbox, 'hi', { background: true })).json
  const stream = call(sandbox, `/v1/responses/${id}?stream=true`)
  await until(() => clock.pendingTimers > 0)
  await clock.advance(300)
  await call(sandbox, `/v1/responses/${id}/cancel`, {})
  const types = eventsOf(await inTime(clock, stream)).map(({ type }) => type)
  expect(types).toContain('response.in_progress')
  expect(types).not.toContain('response.completed')
})

test('a background response is found by a later sandbox with the same folder, and cancelled there', async () => {
  const [clock, folder] = [fakeClock(), join(temporaryFolder(), 'sandbox')]
  const first = await runningSandbox({ clock, folder })
  const { id } = (await respond(first, 'hi', { background: true })).json
  const other = (await respond(first, 'hi', { background: true })).json
  await first.close()
  const second = await runningSandbox({ clock, folder, seed: 2 })
  expect((await call(second, `/v1/responses/${id}`)).json.status).toBe('queued')
  expect((await call(second, `/v1/responses/${id}/cancel`, {})).json.status).toBe('cancelled')
  await clock.advance(500)
  const third = await runningSandbox({ clock, folder })
  expect((await call(third, `/v1/responses/${id}`)).json.status).toBe('cancelled')
  const ended = (await call(third, `/v1/responses/${other.id}`)).json
  expect(ended).toMatchObject({ status: 'completed', created_at: other.created_at })
  expect(ended.output[0].content[0].text).toContain('[sandbox]')
  const next = await respond(third, 'and?', { previous_response_id: other.id })
  expect(next.json.usage.input_tokens).toBeGreaterThan(10)
})

test('previous_response_id carries the conversation on, not the instructions', async () => {
  const sandbox = await runningSandbox()
  const first = await respond(sandbox, 'x'.repeat(4000), { instructions: 'y'.repeat(400) })
  const second = await respond(sandbox, 'and then?', { previous_response_id: first.json.id })
  expect(second.json.previous_response_id).toBe(first.json.id)
  expect(second.json.instructions).toBeNull()
  const carried = 1000 + Math.ceil(first.json.output[0].content[0].text.length / 4)
  expect(second.json.usage.input_tokens).toBe(carried + Math.ceil('and then?'.length / 4))
})

const say = (text: string) => ({ role: 'user', content: text })

test('input above the context window is 400, or loses its oldest items with truncation auto', async () => {
  const sandbox = await runningSandbox()
  const input = [say('a'.repeat(4000)), say('b'.repeat(400)), say('latest words')]
  const model = 'sandbox-small'
  const refused = await respond(sandbox, input, { model })
  expect(refused.status).toBe(400)
  expect(refused.json.error).toMatchObject({ code: 'context_length_exceeded', param: 'input' })
  const dropped = await respond(sandbox, input, { model, truncation: 'auto' })
  expect(dropped.json.usage.input_tokens).toBe(103)
  expect(dropped.json.output[0].content[0].text).toContain('latest words')
  const hopeless = await respond(sandbox, 'z'.repeat(5000), { model, truncation: 'auto' })
  expect(hopeless.status).toBe(400)
  expect(sandbox.created()).toBe(1)
})

test('the sandbox of one command finds the responses of another', async () => {
  const folder = temporaryFolder()
  const brief = () => runningSandbox({ folder, keepsAllResponses: true })
  const { json: first } = await respond(await brief(), 'hi')
  const { status, json: second } = await respond(await brief(), 'on', { previous_response_id: first.id })
  expect([status, second.previous_response_id]).toEqual([200, first.id])
  const unstored = { previous_response_id: second.id, store: false }
  const { json: third } = await respond(await brief(), 'on', unstored)
  expect(new Set([first.id, second.id, third.id]).size).toBe(3)
  const names = [first.id, second.id].map((id) => `${id}.json`)
  expect((await readdir(join(folder, 'responses'))).toSorted()).toEqual(names.toSorted())
  // A sandbox that goes on running needs no disk for them.
  await respond(await runningSandbox({ folder }), 'hi')
  expect(await readdir(join(folder, 'responses'))).toHaveLength(2)
})
