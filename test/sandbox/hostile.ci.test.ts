import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'
import { pngBytes } from '../support/image-bytes.ts'
import { edit, part } from '../support/image-calls.ts'
import { call, generate, rawCall, respond, runningSandbox, type Answer } from '../support/running-sandbox.ts'

const MiB = 1024 * 1024
const many = <Value>(count: number, value: (index: number) => Value) =>
  Array.from({ length: count }, (_, at) => value(at))
const format = (schema: object) => ({ text: { format: { type: 'json_schema', name: 'a', schema } } })
const operations = '/v1beta/models/sandbox-video:predictLongRunning'
const contents = [{ parts: [{ text: 'hi' }] }]

const vastPng = pngBytes({ width: 100_000, height: 100_000, rows: [] })

/** Requests of which each held up the sandbox for seconds or filled its memory. */
const hostile: Record<string, (sandbox: Sandbox) => Promise<Pick<Answer, 'status' | 'json'>>> = {
  'a thousand million items': (sandbox) =>
    respond(sandbox, 'hi', format({ type: 'array', items: true, minItems: 1e9 })),
  'the same of a function': (sandbox) => {
    const properties = { a: { type: 'string', minLength: 1e9 } }
    const parameters = { type: 'object', properties, required: ['a'] }
    const tools = [{ type: 'function', name: 'f', parameters }]
    return respond(sandbox, 'hi', { tools, tool_choice: 'required' })
  },
  'eight candidates of a text for one': (sandbox) =>
    generate(sandbox, 'hi', {
      generationConfig: { candidateCount: 8, responseJsonSchema: { type: 'string', minLength: 500_000 } },
    }),
  '100,000 words with 20 log probabilities each': (sandbox) =>
    respond(sandbox, 'sandbox:100000-words', { top_logprobs: 20 }),
  'metadata that every event repeats': (sandbox) =>
    respond(sandbox, 'hi', { stream: true, metadata: { a: 'x'.repeat(4 * MiB) } }),
  'a million input items': (sandbox) => respond(sandbox, many(1_000_000, Object)),
  'remote servers with a hundred thousand tools': (sandbox) => {
    const server = { type: 'mcp', server_url: 'https://example.com', allowed_tools: many(10_000, String) }
    return respond(sandbox, 'hi', { tools: many(9, (at) => ({ ...server, server_label: `s${at}` })) })
  },
  'thousands of approvals of thousands of requests': (sandbox) => {
    const call = { server_label: 's', name: 'f', arguments: '{}' }
    return respond(sandbox, [
      ...many(8_000, (at) => ({ type: 'mcp_approval_request', id: `m${at}`, ...call })),
      ...many(8_000, () => ({ type: 'mcp_approval_response', approval_request_id: 'm7999', approve: true })),
    ])
  },
  'a model whose name is a book': (sandbox) => respond(sandbox, 'hi', { model: 'x'.repeat(MiB) }),
  'a form of a thousand parts': (sandbox) => {
    const parts = many(1_000, (at) => `--b\r\ncontent-disposition: form-data; name="f${at}"\r\n\r\nx\r\n`)
    const headers = { 'content-type': 'multipart/form-data; boundary=b' }
    return call(sandbox, '/v1/images/edits', `${parts.join('')}--b--\r\n`, { method: 'POST', headers })
  },
  'a million levels of JSON': (sandbox) => {
    const deep = `{"input":"hi","metadata":${'{"a":'.repeat(1_000_000)}1${'}'.repeat(1_000_000)}}`
    return call(sandbox, '/v1/responses', deep, { method: 'POST' })
  },
  'a field called __proto__': (sandbox) =>
    call(sandbox, '/v1/responses', '{"input":"hi","__proto__":{"model":"x"}}', { method: 'POST' }),
  'a number beyond all numbers': (sandbox) =>
    call(sandbox, '/v1/responses', '{"input":"hi","max_output_tokens":1e999}', { method: 'POST' }),
  async 'a bomb of gzip'(sandbox) {
    const body = gzipSync(Buffer.alloc(8 * MiB, ' '))
    const headers = { authorization: 'Bearer x', 'content-encoding': 'gzip' }
    const response = await fetch(`${sandbox.url}/v1/responses`, { method: 'POST', body, headers })
    return { status: response.status, json: await response.json() }
  },
  'a picture of 100,000 by 100,000 to edit': (sandbox) => edit(sandbox, { prompt: 'a' }, [part(vastPng)]),
  'a thousand million samples': (sandbox) =>
    call(sandbox, operations, { instances: [{ prompt: 'a' }], parameters: { sampleCount: 1e9 } }),
  'a thousand million pictures': (sandbox) =>
    call(sandbox, '/v1/images/generations', { model: 'image-model-b', prompt: 'a', n: 1e9 }),
}

test.for(Object.keys(hostile))(
  'is refused in the public envelope, and nothing is counted: %s',
  async (name) => {
    const sandbox = await runningSandbox()
    const { status, json } = await hostile[name]!(sandbox)
    expect(status).toBe(400)
    expect(json.error.message).toMatch(/\.$/)
    expect(JSON.stringify(json).length).toBeLessThan(50_000)
    expect(JSON.stringify(sandbox.requests()).length).toBeLessThan(5_000)
    expect(sandbox.created()).toBe(0)
    expect((await respond(sandbox, 'hi')).status).toBe(200)
  },
)

test('a body that fills a picture and holds few values is read', async () => {
  const sandbox = await runningSandbox()
  const quotes = `\\"${'\\\\'.repeat(40_000)}[{,`.repeat(20)
  const body = `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/${quotes}"}]}]}`
  expect((await call(sandbox, '/v1/responses', body, { method: 'POST' })).status).toBe(200)
})

test('images for a client that has gone are not drawn to the end, and count as accepted', async () => {
  const sandbox = await runningSandbox()
  const headers = { authorization: 'Bearer x' }
  const asked = request(`${sandbox.url}/v1/images/generations`, { method: 'POST', headers })
  asked.on('error', () => {})
  asked.end(JSON.stringify({ model: 'image-model-b', prompt: 'a dot', n: 10, size: '256x256' }))
  while (sandbox.requests().length === 0) await turn()
  asked.destroy()
  while (sandbox.created() === 0) await turn()
  expect(sandbox.created('image-generations')).toBe(1)
})

test('a body that comes in chunks is held to the size limit as well, without a length to tell it', async () => {
  const sandbox = await runningSandbox()
  const headers = { authorization: 'Bearer x', 'transfer-encoding': 'chunked' }
  const asked = request(`${sandbox.url}/v1/responses`, { method: 'POST', headers })
  const replied = once(asked, 'response')
  const piece = Buffer.alloc(8 * MiB, 'x')
  asked.write('{"input":"')
  // 256 MiB, the limit, are reached with the last one.
  for (let sent = 0; sent < 32; sent++) {
    if (!asked.write(piece)) await new Promise((resolve) => asked.once('drain', resolve))
  }
  asked.end('"}')
  const [response] = (await replied) as [IncomingMessage]
  response.resume()
  expect(response.statusCode).toBe(413)
  expect(sandbox.created()).toBe(0)
})

test.for(['https://example.com', 'http://localhost:3000', 'null', ''])(
  'a web page at "%s" is refused at every path',
  async (origin) => {
    const sandbox = await runningSandbox()
    for (const path of ['/v1/responses', '/v1beta/models/sandbox-text:generateContent', '/sandbox/stats']) {
      const { bytes } = await rawCall(sandbox, path, { input: 'hi', contents }, { origin }).over
      expect(bytes).toMatch(path === '/sandbox/stats' ? /^HTTP\/1\.1 (403|404) / : /^HTTP\/1\.1 403 /)
    }
    const stats = await call(sandbox, '/sandbox/stats', undefined, { headers: { origin } })
    expect(stats.status).toBe(403)
    expect(sandbox.created()).toBe(0)
  },
)

test.for([
  ['cross-site', 'empty', 403],
  ['same-site', 'script', 403],
  ['cross-site', undefined, 403],
  // A page that shows a picture or a video by its address, and the user who opens one.
  ['cross-site', 'image', 200],
  ['same-site', 'video', 200],
  ['none', 'document', 200],
  ['same-origin', 'empty', 200],
] as const)(
  'a browser that fetches for a page of %s, as %s, gets %d',
  async ([site, destination, status]) => {
    const sandbox = await runningSandbox()
    const own = { 'sec-fetch-site': site, ...(destination && { 'sec-fetch-dest': destination }) }
    const headers = { authorization: 'Bearer x', ...own }
    for (const path of ['/v1/models', '/sandbox/stats']) {
      // Not by `fetch`, which has these headers of its own.
      const asked = request(sandbox.url + path, { headers }).end()
      const [response] = (await once(asked, 'response')) as [IncomingMessage]
      response.resume()
      const allowing = Object.keys(response.headers).filter((name) => name.startsWith('access-'))
      expect([response.statusCode, allowing]).toEqual([status, []])
    }
  },
)
