import { execFileSync } from 'node:child_process'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { expect, onTestFinished, test } from 'vitest'
import { textStyles } from '../program/text-styles.ts'
import { canMakeCertificates, makeCertificate } from '../support/certificate.ts'
import { localServer } from '../support/local-server.ts'
import { runMain } from '../support/run-main.ts'
import { sse } from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { endOf, spawnProgram } from './spawn-program.ts'

const { delta, end } = textStyles.generate
const gateway = { MODELGATE_BASE_URL: 'https://127.0.0.1:59999' }
const text = ['generate', '-m', 'm']
const edit = ['image', 'edit', '-m', 'm']
const film = ['video', 'generate', '-m', 'm']

/** Every flag and variable that names a file to be read; FILE stands for it. */
const places: readonly (readonly [name: string, argv: readonly string[], variable?: string])[] = [
  ['--ca-file', [...text, '--ca-file', 'FILE', 'x']],
  ['MODELGATE_CA_FILE', [...text, 'x'], 'MODELGATE_CA_FILE'],
  ['NODE_EXTRA_CA_CERTS', [...text, 'x'], 'NODE_EXTRA_CA_CERTS'],
  ['--api-key-file', [...text, '--api-key-file', 'FILE', 'x']],
  ['MODELGATE_API_KEY_FILE', [...text, 'x'], 'MODELGATE_API_KEY_FILE'],
  ['--body', [...text, '--body', '@FILE', 'x']],
  ['--schema', [...text, '--schema', 'FILE', 'x']],
  ['--history', [...text, '--history', 'FILE', 'x']],
  ['--tool', [...text, '--tool', '@FILE', 'x']],
  ['--tools', [...text, '--tools', '@FILE', 'x']],
  ['--system', [...text, '--system', '@FILE', 'x']],
  ['--instructions', ['respond', '-m', 'm', '--instructions', '@FILE', 'x']],
  ['-a', [...text, '-a', 'FILE', 'x']],
  ['--tool-output', ['respond', '--previous-response-id', 'r', '--tool-output', 'c=@FILE']],
  ['a prompt', [...text, '@FILE']],
  ['--image of an edit', [...edit, '--image', 'FILE', 'x']],
  ['--mask', [...edit, '--image', 'FILE', '--mask', 'FILE', 'x']],
  ['--image of a video', [...film, '--image', 'FILE', 'x']],
  ['--last-frame', [...film, '--last-frame', 'FILE', 'x']],
  ['--reference', [...film, '--reference', 'FILE', 'x']],
  ['--faults', ['sandbox', '--faults', 'FILE']],
]

const table = places.map(([name, argv, variable]) => [name, argv, variable] as const)

/** The words and variables of a place that names this file. */
const naming = (file: string, argv: readonly string[], variable?: string) => ({
  words: argv.map((word) => word.replace('FILE', file)),
  env: { ...gateway, ...(variable !== undefined && { [variable]: file }) },
})
const isLinux = process.platform === 'linux'

test.runIf(isLinux).each(table)('%s refuses a device without end', async (_, argv, variable) => {
  const { words, env } = naming('/dev/zero', argv, variable)
  const { code, err } = await runMain(words, { env, home: temporaryFolder(), cwd: temporaryFolder() })
  expect([code, err]).toEqual([10, expect.stringContaining('"/dev/zero" is not a regular file or a pipe.')])
})

const waiting = new Set(['NODE_EXTRA_CA_CERTS', '--api-key-file', 'a prompt', '--image of an edit'])

test.runIf(isLinux).each(table.filter(([name]) => waiting.has(name)))(
  '%s waits for the writer of a pipe, and Ctrl-C ends that',
  async (_, argv, variable) => {
    const path = join(temporaryFolder(), 'pipe')
    execFileSync('mkfifo', [path])
    // Opening it takes until somebody reads it.
    const opened = open(path, 'w')
    onTestFinished(async () => {
      // Whoever still waits at the end, here or there, gets the other side.
      const both = await open(path, 'r+')
      await (await opened).close()
      await both.close()
    })
    const { words, env } = naming(path, argv, variable)
    const program = spawnProgram(words, { env })
    await opened
    program.process.kill('SIGINT')
    const { exit, stderr } = await program.ended
    expect([exit, stderr]).toEqual(['SIGINT', expect.stringContaining('modelgate: Stopped.')])
  },
)

test.runIf(isLinux)('process substitution gives a body, a prompt and an attachment', async () => {
  const shell = `modelgate generate -m m --dry-run --body @<(echo '{"generationConfig":{"seed":1}}') \
    -a <(echo attached) @<(echo asked)`
  const { exit, stdout, stderr } = await endOf([], { shell, env: gateway })
  const parts = [{ inlineData: { mimeType: 'text/plain', data: 'YXR0YWNoZWQK' } }, { text: 'asked\n' }]
  const body = { generationConfig: { seed: 1 }, contents: [{ role: 'user', parts }] }
  expect([exit, stderr, JSON.parse(stdout)]).toMatchObject([0, '', { body }])
})

test.skipIf(!canMakeCertificates)('process substitution gives a key and certificates', async () => {
  const { key, cert } = makeCertificate()
  const server = await localServer([sse([delta('Hello.'), end])], { tls: { key, cert } })
  const env = { CERT: cert, MODELGATE_API_KEY: undefined }
  const shell = 'modelgate "$@" --api-key-file <(echo some-key) --ca-file <(echo "$CERT")'
  const { stdout } = await endOf([...text, '--base-url', server.url, 'x'], { shell, env })
  expect(stdout).toBe('Hello.\n')
  expect(server.requests[0]!.headers['authorization']).toBe('Bearer some-key')
})

test('a pipe without end is read to the limit alone', async () => {
  const shell = 'modelgate generate -m m --ca-file <(cat /dev/zero) x'
  const { exit, stderr } = await endOf([], { shell, env: gateway })
  expect(exit).toBe(2)
  expect(stderr).toContain('more than 4194304 bytes; the limit is 4194304 bytes.')
})

test('a key that is piped in is never part of a prompt', async () => {
  const shell = 'echo piped-key | modelgate generate -m m --dry-run --api-key-file /dev/stdin asked'
  const { exit, stdout } = await endOf([], { shell, env: gateway })
  expect(exit).toBe(0)
  expect(stdout).not.toContain('piped-key')
})
