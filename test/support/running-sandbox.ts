import { connect } from 'node:net'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../src/context.ts'
import { startSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/start-sandbox.ts'

export { until } from './until.ts'

/** Parsed JSON that a test looks into. */
export type Json = ReturnType<typeof JSON.parse>

/** A sandbox for one test; closed when the test ends. */
export async function runningSandbox(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ clock: systemClock, ...options })
  onTestFinished(() => sandbox.close())
  return sandbox
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Json
}

/** Sends JSON with a key and reads the whole answer. `json` is an empty object when the answer is not JSON. */
export async function call(
  sandbox: Sandbox,
  path: string,
  body?: unknown,
  { headers = {}, method = body === undefined ? 'GET' : 'POST' }: { headers?: Json; method?: string } = {},
): Promise<Answer> {
  const response = await fetch(sandbox.url + path, {
    method,
    headers: { authorization: 'Bearer test-key', 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parsed(text) }
}

/** Asks the content-generation endpoint. */
export function generate(sandbox: Sandbox, prompt: string, more: Json = {}, model = 'sandbox-text') {
  const path = `/v1beta/models/${model}:streamGenerateContent?alt=sse`
  return call(sandbox, path, { contents: [{ parts: [{ text: prompt }] }], ...more })
}

/** Asks the response endpoint. */
export function respond(sandbox: Sandbox, input: unknown, more: Json = {}) {
  return call(sandbox, '/v1/responses', { input, ...more })
}

/** The payloads of an event stream. */
export function eventsOf({ text }: { readonly text: string }): Json[] {
  return text
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)) as Json)
}

/**
 * A connection without an HTTP client in between, to see every byte as a character of Latin-1, and how it ends: properly
 * closed by the sandbox, or reset.
 */
export function rawCall(sandbox: Sandbox, path: string, body: unknown, headers: Json = {}) {
  const { hostname, port } = new URL(sandbox.url)
  const socket = connect(Number(port), hostname)
  const text = JSON.stringify(body)
  const lines = Object.entries({
    host: `${hostname}:${port}`,
    authorization: 'Bearer test-key',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    connection: 'close',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`)
  let bytes = ''
  const { promise: over, resolve } = Promise.withResolvers<{ bytes: string; ending: 'end' | 'reset' }>()
  socket.on('data', (chunk) => (bytes += chunk.toString('latin1')))
  socket.on('end', () => resolve({ bytes, ending: 'end' }))
  socket.on('error', () => resolve({ bytes, ending: 'reset' }))
  onTestFinished(() => void socket.destroy())
  return {
    over,
    /** What has come so far. */
    get bytes() {
      return bytes
    },
    get isOpen() {
      return !socket.destroyed && !socket.readableEnded
    },
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return {}
  }
}
