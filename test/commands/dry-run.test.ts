import { execFile, spawnSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { localServer } from '../support/local-server.ts'
import { runMain } from '../support/run-main.ts'
import { json } from '../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

const key = 'sk-very-secret-0123456789'
const env = { MODELGATE_BASE_URL: 'https://gateway.example.com/prefix', MODELGATE_TEXT_MODEL: 'vendor/m' }

const golden = (text: string) => text.replace(/modelgate\/[^"']+/, 'modelgate/VERSION')

test('--dry-run prints the exact request of generate, and sends nothing', async () => {
  const { code, out, err } = await runMain(['generate', '--dry-run', "it's", '--top-k', '3'], { env })
  expect([code, err]).toEqual([0, ''])
  expect(out.endsWith('}\n')).toBe(true)
  expect(JSON.parse(golden(out))).toEqual({
    method: 'POST',
    url: 'https://gateway.example.com/prefix/v1beta/models/vendor%2Fm:streamGenerateContent?alt=sse',
    headers: {
      authorization: 'Bearer <hidden>',
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'user-agent': 'modelgate/VERSION',
      'content-type': 'application/json',
      'idempotency-key': '019b76da-a800-7888-a888-888888888888',
    },
    body: { generationConfig: { topK: 3 }, contents: [{ role: 'user', parts: [{ text: "it's" }] }] },
  })
})

test('--curl prints a command, with the text quoted for the shell', async () => {
  const { code, out } = await runMain(['generate', '--curl', `it's "$HOME" \`x\``], { env })
  expect(code).toBe(0)
  expect(golden(out)).toMatchInlineSnapshot(`
    "curl --no-buffer --fail-with-body -sS 'https://gateway.example.com/prefix/v1beta/models/vendor%2Fm:streamGenerateContent?alt=sse' \\
      -H "authorization: Bearer $MODELGATE_API_KEY" \\
      -H 'accept: text/event-stream' \\
      -H 'accept-encoding: identity' \\
      -H 'user-agent: modelgate/VERSION' \\
      -H 'content-type: application/json' \\
      -H 'idempotency-key: 019b76da-a800-7888-a888-888888888888' \\
      --data-binary '{"contents":[{"role":"user","parts":[{"text":"it'\\''s \\"$HOME\\" \`x\`"}]}]}'
    "
  `)
})

test.each(['--dry-run', '--curl'])('%s never shows the key, and needs none', async (flag) => {
  const { code, out, err } = await runMain(['respond', flag, 'hi', '--debug'], {
    env: { ...env, MODELGATE_API_KEY: key },
  })
  expect([code, out + err]).toEqual([0, expect.not.stringContaining(key)])
  expect(out + err).not.toContain(Buffer.from(key).toString('base64'))
  expect(await runMain(['respond', flag, 'hi'], { env })).toMatchObject({ code: 0, out })
})

const picture = 'https://a.example/in.png'

test.each([
  [`image edit -m m --image ${picture}?key=1`, { parts: [{}, {}, { name: 'image', value: picture }] }],
  [
    `video generate -m m --image ${picture}`,
    { body: { instances: [{ image: { bytesBase64Encoded: picture, mimeType: 'image/png' } }] } },
  ],
])('a dry run fetches nothing, and a URL stands for itself: %s', async (words, content) => {
  const offline = { ...env, HTTPS_PROXY: 'http://127.0.0.1:1' }
  const { code, out } = await runMain([...words.split(' '), '--dry-run', 'x'], { env: offline })
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject(content)
})

/** Sends what a shell makes of a curl line, without any variable of the key. */
async function paste(line: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const pasted = promisify(execFile)('bash', ['--noprofile', '--norc'], {
    env: { PATH: process.env['PATH'], NO_PROXY: '*', HOME: temporaryFolder(), ...env },
  })
  pasted.child.stdin!.end(line)
  await pasted
}

const canPaste = ['bash', 'curl'].every((tool) => spawnSync(tool, ['--version']).status === 0)

test('the curl line of a cancellation is a POST', async () => {
  const { out } = await runMain(['cancel', 'resp_1', '--curl'], { env })
  expect(out).toContain(" -X POST 'https://gateway.example.com/prefix/v1/responses/resp_1/cancel'")
})

test.skipIf(!canPaste).each<[string, string]>([
  ['quotes of all kinds', `it's "$HOME" \`id\` $(id) \\ ! é 日本 \n\t%s @file`],
  ['a text that no single argument can hold', `'${'long "text" '.repeat(20_000)}`],
])('the curl line, pasted into bash, sends the same request: %s (needs bash and curl)', async (_, prompt) => {
  const server = await localServer([json({ ok: true })])
  const local = { ...env, MODELGATE_BASE_URL: server.url }
  const argv = ['--no-stdin', '--', prompt]
  const shown = await runMain(['generate', '--dry-run', ...argv], { env: local })
  const { out } = await runMain(['generate', '--curl', ...argv], { env: local })
  await paste(out, { MODELGATE_API_KEY: key })
  const [request] = server.requests
  const expected = JSON.parse(shown.out) as { headers: Record<string, string>; body: unknown; url: string }
  expect(request!.line).toBe(`POST ${new URL(expected.url).pathname}?alt=sse HTTP/1.1`)
  expect(JSON.parse(request!.body.toString())).toEqual(expected.body)
  expect(request!.headers).toMatchObject({ ...expected.headers, authorization: `Bearer ${key}` })
})

test.skipIf(!canPaste).each<[string, (folder: string) => Record<string, string>]>([
  ['a file', (folder) => ({ MODELGATE_API_KEY_FILE: join(folder, "it's a key") })],
  ['a command', () => ({ MODELGATE_API_KEY_COMMAND: `printf '%s\\n' "${key}"` })],
  ['the stored credentials', (folder) => ({ MODELGATE_CONFIG_DIR: folder })],
])('the curl line fetches the key from %s (needs bash and curl)', async (_, where) => {
  const folder = temporaryFolder()
  writeFiles(folder, {
    "it's a key": `\n${key}\r\n`,
    'credentials.json': JSON.stringify({ profiles: { default: { api_key: key } } }),
  })
  chmodSync(join(folder, 'credentials.json'), 0o600)
  const server = await localServer([json({ ok: true })])
  const local = { ...env, MODELGATE_BASE_URL: server.url, ...where(folder) }
  const { out } = await runMain(['respond', '--curl', '--no-stdin', 'hi'], { env: local })
  const isGiven = 'MODELGATE_API_KEY_COMMAND' in local
  expect(out.includes(key)).toBe(isGiven)
  await paste(out)
  expect(server.requests[0]!.headers).toMatchObject({ authorization: `Bearer ${key}` })
})

test('a curl line for the sandbox says how to start one', async () => {
  expect(await runMain(['generate', '--sandbox', '--curl', '--no-stdin', 'hi'])).toMatchObject({
    out: expect.stringMatching(
      /'http:..127\.0\.0\.1:8080\/v1beta[^]*"authorization: Bearer sandbox-key"/,
    ) as string,
    err: 'modelgate: Start the sandbox first: modelgate sandbox --port 8080\n',
  })
})
