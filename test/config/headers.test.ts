import { expect, test } from 'vitest'
import { readHeaders } from '../../src/config/headers.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import type { ModelgateError } from '../../src/errors.ts'
import { configPlace } from '../support/config-place.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

const messageOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'taken',
    (error: ModelgateError) => `${error.exitCode}: ${error.message}`,
  )

const own = 'the program sets it itself'

const transport = 'host connection transfer-encoding te trailer upgrade expect keep-alive proxy-authorization'
const ofBody = 'content-type accept-encoding idempotency-key'

test.each([
  ...`${transport} ${ofBody}`.split(' ').map((name) => [`${name}: a`, `cannot set ${name}: ${own}`]),
  ['a b: c', 'cannot set "a b": it is not the name of a header'],
  ['no colon, but a secret', "takes 'Name: value'"],
  ['x-empty:', 'has no value for x-empty'],
  ['x-lines: one\r\ntwo: 2', 'has a line break or another character in x-lines that no header can have'],
  ['x-left: <value>', 'has <value> for x-left: write the value in its place'],
])('--header %j is refused, and its value is not quoted', async (line, problem) => {
  const { context } = configPlace()
  expect(await messageOf(resolveSettings(context, { header: [line!] }))).toBe(`2: --header ${problem}.`)
})

test('the same name twice is refused', async () => {
  const header = ['X-Tenant: blue', 'x-tenant: red']
  const { context } = configPlace()
  expect(await messageOf(resolveSettings(context, { header }))).toBe('2: --header has x-tenant twice.')
})

test('headers of all places are sent together, and the nearer value of a name wins', async () => {
  const { context, scrub } = configPlace({
    user: 'headers: { A: user, B: user, C: user, D: "@keys/d" }\nprofiles: { default: { headers: { B: profile } } }',
    env: { MODELGATE_HEADERS: 'c: environment\n\n' },
  })
  const { headers } = await resolveSettings(context, { header: ['A: flag'] })
  expect({ ...headers.value, d: scrub(headers.value['d']!) }).toEqual({
    a: 'flag',
    b: 'profile',
    c: 'environment',
    d: '@HOME/.config/modelgate/keys/d',
  })
})

test('a value may be in a file or a variable, and is a secret if it has 16 characters', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { token: 'a-token-of-22-characters\n', bad: 'two\nlines' })
  const context = testContext({ cwd, env: { SHORT: 'openai', LONG: 'exactly-16-chars' } })
  const sources = {
    a: 'openai',
    b: `@${cwd}/token`,
    c: 'env:SHORT',
    d: 'env:LONG',
    e: 'written-out-and-long',
  }
  const secrets = ['a-token-of-22-characters', 'exactly-16-chars']
  const hidden: string[] = []
  const read = (given: Readonly<Record<string, string>>) =>
    readHeaders(context, given, (secret) => hidden.push(secret))
  const [b, d] = secrets
  expect(await read(sources)).toEqual({ a: 'openai', b, c: 'openai', d, e: 'written-out-and-long' })
  expect(hidden).toEqual(secrets)
  expect(await messageOf(read({ x: 'env:NONE' }))).toBe(
    '2: The headers: the variable NONE has no value for x.',
  )
  expect(await messageOf(read({ x: `@${cwd}/bad` }))).toContain('a line break')
  expect(await messageOf(read({ x: `@${cwd}/none` }))).toMatch(/^10: The header x: /)
})

test.each([
  ['{ "https://a.example/path": { x: y } }', 'must be an origin such as https://files.example'],
  ['{ "http://a.example": { x: y } }', 'must be an origin such as https://files.example'],
  ['{ "https://a.example": { host: y } }', `cannot set host: ${own}`],
  ['{ "https://a.example": y }', 'must map names of headers to values'],
])('download_headers: %s is refused', async (written, problem) => {
  const { context } = configPlace({ user: `download_headers: ${written}` })
  expect(await messageOf(resolveSettings(context))).toContain(problem)
})
