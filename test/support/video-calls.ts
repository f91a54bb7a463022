import type { FakeClock } from './fake-clock.ts'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'
import { call, type Answer, type Json } from './running-sandbox.ts'

/** Longer than any job of the sandbox without latency runs. */
export const jobMs = 500

/** Begins an operation. */
export function operate(
  sandbox: Sandbox,
  parameters: Json = {},
  { instances = [{ prompt: 'a paper boat' }], model = 'sandbox-video', headers = {} }: Json = {},
): Promise<Answer> {
  return call(sandbox, `/v1beta/models/${model}:predictLongRunning`, { instances, parameters }, { headers })
}

/** Begins a video. */
export function makeVideo(sandbox: Sandbox, body: Json = {}, headers: Json = {}): Promise<Answer> {
  return call(sandbox, '/v1/videos', { prompt: 'a paper boat', seconds: '1', ...body }, { headers })
}

/** Begins a remix. */
export function remix(sandbox: Sandbox, source: string, body: Json = {}): Promise<Answer> {
  const wishes = { model: 'sora-2', prompt: 'make it night', ...body }
  return call(sandbox, `/v1/videos/${source}/remix`, wishes)
}

/** A video or an operation that has come to its end. */
export async function afterwards(begun: Promise<Answer>, clock: FakeClock): Promise<Json> {
  const { json } = await begun
  await clock.advance(jobMs)
  return json
}

/** Fetches bytes; redirects are not followed. */
export async function fetchBytes(url: string, headers: Record<string, string> = {}) {
  const all = { authorization: 'Bearer test-key', ...headers }
  const response = await fetch(url, { headers: all, redirect: 'manual' })
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, bytes }
}
