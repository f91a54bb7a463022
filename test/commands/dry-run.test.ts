import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { localServer } from '../support/local-server.ts'
import { runMain } from '../support/run-main.ts'
import { json } from '../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

const key = 'sk-very-secret-0123456789'
const env = { MODELGATE_BASE_URL: 'https://gateway.example.com/prefix', MODELGATE_TEXT_MODEL: 'vendor/m' }
/** Node's own words do not change with the version of this program. */
const userAgent = /modelgate\/[^"']+/

const golden = (text: string) => text.replace(userAgent, 'modelgate/VERSION')

test('--dry-run prints the exact request of generate, and sends nothing', async () => {
  const { code, out, err } = await runMain(['generate', '--dry-run', "it's", '--top-k', '3'], { env })
  expect([code, err]).toEqual([0, ''])
  expect(golden(out)).toMatchInlineSnapshot(`
    "{
      "method": "POST",
      "url": "https://gateway.example.com/prefix/v1beta/models/vendor%2Fm:streamGenerateContent?alt=sse",
      "headers": {
        "authorization": "Bearer <hidden>",
        "accept": "text/event-stream",
        "accept-encoding": "identity",
        "user-agent": "modelgate/VERSION",
        "content-type": "application/json",
        "idempotency-key": "019b76da-a800-7888-a888-888888888888"
      },
      "body": {
        "generationConfig": {
          "topK": 3
        },
        "contents": [
          {
            "role": "user",
            "parts": [
              {
                "text": "it's"
              }
            ]
          }
        ]
      }
    }
    "
  `)
})

test('--dry-run prints the exact request of respond, and sends nothing', async () => {
  const { code, out } = await runMain(['respond', '--dry-run', '--no-stream', 'hi'], { env })
  expect(code).toBe(0)
  expect(golden(out)).toMatchInlineSnapshot(`
    "{
      "method": "POST",
      "url": "https://gateway.example.com/prefix/v1/responses",
      "headers": {
        "authorization": "Bearer <hidden>",
        "accept": "application/json",
        "accept-encoding": "identity",
        "user-agent": "modelgate/VERSION",
        "content-type": "application/json",
        "idempotency-key": "019b76da-a800-7888-a888-888888888888"
      },
      "body": {
        "stream": false,
        "input": "hi",
        "model": "vendor/m"
      }
    }
    "
  `)
})

test('--curl prints a command, with the text quoted for the shell', async () => {
  const { code, out } = await runMain(['generate', '--curl', `it's "$HOME" \`x\``], { env })
  expect(code).toBe(0)
  expect(golden(out)).toMatchInlineSnapshot(`
    "curl --no-buffer 'https://gateway.example.com/prefix/v1beta/models/vendor%2Fm:streamGenerateContent?alt=sse' \\
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
  const withKey = await runMain(['respond', flag, 'hi', '--debug'], {
    env: { ...env, MODELGATE_API_KEY: key },
  })
  const without = await runMain(['respond', flag, 'hi'], { env })
  expect([withKey.code, without.code]).toEqual([0, 0])
  expect(withKey.out).toBe(without.out)
  for (const secret of [key, Buffer.from(key).toString('base64')]) {
    expect(withKey.out + withKey.err).not.toContain(secret)
  }
})

test('a dry run is checked like a real one', async () => {
  const { code, out } = await runMain(['respond', '--dry-run', '--temperature', '9', 'hi'], { env })
  expect([code, out]).toEqual([2, ''])
})

test('a dry run writes no file', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'answer.txt': 'kept' })
  const { code } = await runMain(['respond', '--dry-run', '-o', 'answer.txt', 'hi'], { env, cwd })
  expect(code).toBe(0)
})

const canPaste = ['bash', 'curl'].every((tool) => spawnSync(tool, ['--version']).status === 0)

test.skipIf(!canPaste).each<[string, string]>([
  ['quotes of all kinds', `it's "$HOME" \`id\` $(id) \\ ! é 日本 \n\t%s @file`],
  ['a text that no single argument can hold', `'${'long "text" '.repeat(20_000)}`],
])('the curl line, pasted into bash, sends the same request: %s (needs bash and curl)', async (_, prompt) => {
  const server = await localServer([json({ ok: true })])
  const local = { ...env, MODELGATE_BASE_URL: server.url }
  const argv = ['generate', '--no-stdin', '--', prompt]
  const shown = await runMain(['--dry-run', ...argv], { env: local })
  const { out } = await runMain(['--curl', ...argv], { env: local })
  // A script on standard input, as a paste is; an argument of its own would be subject to the same limit.
  const pasted = promisify(execFile)('bash', ['--noprofile', '--norc'], {
    env: { PATH: process.env['PATH'], MODELGATE_API_KEY: key, NO_PROXY: '*', HOME: temporaryFolder() },
  })
  pasted.child.stdin!.end(out)
  await pasted
  const [request] = server.requests
  const expected = JSON.parse(shown.out) as { headers: Record<string, string>; body: unknown; url: string }
  expect(request!.line).toBe(`POST ${new URL(expected.url).pathname}?alt=sse HTTP/1.1`)
  expect(JSON.parse(request!.body.toString())).toEqual(expected.body)
  expect(request!.headers).toMatchObject({ ...expected.headers, authorization: `Bearer ${key}` })
})
