import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { expect, test } from 'vitest'
import { registerSandbox, runSandbox, type SandboxSettings, readFaults } from '../../src/commands/sandbox.ts'
import { Interrupted } from '../../src/errors.ts'
import { errorDocument } from '../../src/output/json-output.ts'
import { testContext, type TestOverrides } from '../support/test-context.ts'
import { until } from '../support/running-sandbox.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

const plain: SandboxSettings = { port: 0, seed: 1, latency: 'none', validate: true, stdin: true }

/** A sandbox that runs, once it has told its address. */
async function serving(overrides: TestOverrides = {}, settings: Partial<SandboxSettings> = {}) {
  const context = testContext(overrides)
  const ended: Promise<unknown> = runSandbox(context, { ...plain, ...settings }).catch(
    (error: unknown) => error,
  )
  await until(() => context.stdout.text !== '' && (settings.quiet || context.stderr.text.includes('Ctrl-C')))
  const url = context.stdout.text.trim()
  const ask = (path: string, body?: string) =>
    fetch(url + path, {
      headers: { authorization: 'Bearer x' },
      ...(body !== undefined && { method: 'POST', body }),
    })
  const end = (signal: 'interrupt' | 'terminate' | 'hangup' = 'interrupt') => {
    context.abort(new Interrupted(signal))
    return ended
  }
  return { url, ask, end, out: () => context.stdout.text, err: () => context.stderr.text }
}

async function parsed(...argv: string[]): Promise<SandboxSettings> {
  const { promise, resolve } = Promise.withResolvers<SandboxSettings>()
  const program = new Command()
  registerSandbox(program.command('sandbox'), testContext(), async (_, given) => {
    resolve(given)
    throw new Interrupted('interrupt')
  })
  await program.parseAsync(['sandbox', ...argv], { from: 'user' }).catch((error: unknown) => {
    if (!(error instanceof Interrupted)) throw error
  })
  return promise
}

test.for<readonly [string[], object]>([
  [[], {}],
  [['--port', '8080', '--seed', '7'], { port: 8080, seed: 7 }],
  [['--latency', 'none'], { latency: 'none' }],
  [['--latency', '25', '--faults', 'f.yaml', '-q'], { latency: 25, faults: 'f.yaml', quiet: true }],
  [['--replay', 'calls'], { latency: 'none', replay: 'calls' }],
])('%j', async ([argv, settings]) => {
  expect(await parsed(...argv)).toEqual({ port: 0, seed: 1, latency: 'natural', ...settings })
})

test.for(['--port 70000', '--port 6000', '--seed -1', '--latency slow'])('%s is refused', async (words) => {
  const message = expect.stringContaining(words.split(' ')[0]!) as string
  await expect(parsed(...words.split(' '))).rejects.toMatchObject({ code: 'usage', exitCode: 2, message })
})

test('on Windows it says in the words of PowerShell how it is used', async () => {
  const { url, err, end } = await serving({ platform: 'win32', home: '' })
  const words = `$env:MODELGATE_BASE_URL='${url}'; $env:MODELGATE_API_KEY='sandbox-key'`
  expect(err()).toContain(`another shell: ${words}\n`)
  await end()
})

test('prints its address first, serves, logs, and ends with the reason of the signal', async () => {
  const { url, ask, out, err, end } = await serving()
  expect(out()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\n$/)
  expect(err()).toContain(`export MODELGATE_BASE_URL=${url} MODELGATE_API_KEY=sandbox-key`)
  const { status } = await ask('/v1/responses', '{"input":"hi","model":"\\u001b[31mred"}')
  expect(status).toBe(200)
  await until(() => err().includes('POST /v1/responses 200'))
  expect(err()).not.toContain('\u001b')
  const interrupted = (await end()) as Interrupted
  expect([interrupted.exitCode, errorDocument(interrupted).error.billed]).toEqual([130, 'no'])
  await expect(fetch(url)).rejects.toThrow('fetch failed')
})

test('has the families of the configuration, and says nothing on standard error when quiet', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { '.git/HEAD': '', '.modelgaterc.yaml': 'families: { fast: image-model-b }\n' })
  const { ask, err, end } = await serving({ cwd }, { quiet: true })
  const reply = await ask('/v1/images/generations', '{"model":"fast","prompt":"a dot","size":"640x480"}')
  expect(await reply.text()).toContain('for fast (image-model-b)')
  expect(await end('terminate')).toMatchObject({ exitCode: 143 })
  expect(err()).toBe('')
})

test('keeps video jobs in the state folder', async () => {
  const folder = temporaryFolder()
  const { ask, end } = await serving({ env: { MODELGATE_STATE_DIR: folder } })
  const { id } = (await (await ask('/v1/videos', '{"prompt":"a paper boat"}')).json()) as { id: string }
  expect(await readdir(join(folder, 'sandbox'))).toEqual([`${id}.json`])
  await end()
})

test('plays the faults of a YAML file', async () => {
  const cwd = temporaryFolder()
  const rule = '{ id: busy, nth: 1, action: status, status: 429, headers: { retry-after: 1 } }'
  await writeFile(join(cwd, 'faults.yaml'), `# busy once\nfaults:\n  - ${rule}\n`)
  const { ask, err, end } = await serving({ cwd }, { faults: 'faults.yaml' })
  expect([(await ask('/v1/models')).status, (await ask('/v1/models')).status]).toEqual([429, 200])
  expect(err()).toContain('GET /v1/models 429, fault busy')
  expect(await end('hangup')).toMatchObject({ exitCode: 129 })
})

test.for<readonly [string, string | undefined, RegExp]>([
  ['a missing file', undefined, /faults/],
  ['neither YAML nor JSON', '[{', /not valid YAML/],
  ['no list', 'action: reset', /must be a list/],
  ['too deep', '['.repeat(5000), /faults/],
  ['too many aliases', `- &a {action: cut}\n${'- *a\n'.repeat(200)}`, /faults/],
])('a fault file is refused clearly: %s', async ([, text, message]) => {
  const cwd = temporaryFolder()
  if (text !== undefined) await writeFile(join(cwd, 'faults.yaml'), text)
  await expect(readFaults(testContext({ cwd }), 'faults.yaml')).rejects.toMatchObject({
    name: expect.stringMatching(/^(UsageError|ConfigError|FileError)$/),
    message: expect.stringMatching(message),
  })
})
