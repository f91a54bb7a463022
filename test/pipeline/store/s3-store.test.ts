import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { startFauxqs } from 'fauxqs'
import { expect, onTestFinished, test } from 'vitest'
import type { ModelgateError } from '../../../src/errors.ts'
import { openSharedStore } from '../../../src/pipeline/store/shared-store.ts'
import { closedPort } from '../../support/local-server.ts'
import { s3Checker, signatureOf, type S3CheckerOptions } from '../../support/s3-checker.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { digestOf, failureOf, fetched, fileOf, instantClock, twoLines } from './store-samples.ts'

const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRSECRETEXAMPLE' }
const variables = { AWS_ACCESS_KEY_ID: keys.accessKeyId, AWS_SECRET_ACCESS_KEY: keys.secretAccessKey }
const session = { ...keys, sessionToken: 'FwoGZXIvYXdzE/session+token==' }
const twoLinesPath = `/shelf/${twoLines.slice(0, 2)}/${twoLines}`

interface Opening {
  readonly location?: string
  readonly env?: Readonly<Record<string, string>>
  readonly home?: string
  /** Receives how long each wait would have been, in milliseconds. */
  readonly waits?: number[]
  readonly trace?: (line: string) => void
}

function open(
  url: string,
  { location = 's3://shelf', env = variables, waits, trace, ...more }: Opening = {},
) {
  const own = testContext({ cwd: temporaryFolder(), env: { AWS_ENDPOINT_URL_S3: url, ...env }, ...more })
  const context = { ...own, clock: instantClock(waits) }
  return openSharedStore(context, location, { connection: {}, allowHttp: false, trace })
}

const checker = (options: Partial<S3CheckerOptions> = {}) =>
  s3Checker({ keys, buckets: ['shelf'], now: Date.now, ...options })

async function openChecker(options: Partial<S3CheckerOptions> = {}, opening: Opening = {}) {
  const server = await checker(options)
  return { server, store: await open(server.url, opening) }
}

async function endOf(work: Promise<unknown>): Promise<string> {
  const { exitCode, code } = await failureOf(work)
  return `${exitCode} ${code}`
}

test('the checker computes a signature of the documentation', () => {
  const headers = {
    host: 'examplebucket.s3.amazonaws.com',
    date: 'Fri, 24 May 2013 00:00:00 GMT',
    'x-amz-date': '20130524T000000Z',
    'x-amz-storage-class': 'REDUCED_REDUNDANCY',
    'x-amz-content-sha256': '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
    authorization:
      'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,' +
      'SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class,Signature=',
  }
  const request = { method: 'PUT', target: '/test%24file.text', headers }
  expect(signatureOf(request, 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY')).toBe(
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  )
})

test('bytes travel through a bucket under their digest, and are sent once', async () => {
  const { server, store } = await openChecker()
  expect(store.shown).toBe('s3://shelf')
  expect(await fetched(store, twoLines)).toBeUndefined()
  const path = fileOf('One\nTwo\n')
  expect(await store.put(path, twoLines)).toBe(true)
  expect(await store.put(path, twoLines)).toBe(false)
  expect(await (await open(server.url)).put(path, twoLines)).toBe(false)
  expect(server.written).toEqual([twoLinesPath])
  // What the server vouches for is not read.
  expect(server.requests.at(-1)).toBe(`HEAD ${twoLinesPath}`)
  expect(await fetched(store, twoLines, 8)).toBe('One\nTwo\n')
  expect(await fetched(store, twoLines, 7)).toBeUndefined()
})

test('the keys of a session are used, and those of a profile where no others are set', async () => {
  const home = temporaryFolder()
  const other = '[default]\naws_access_key_id = other\naws_secret_access_key=none\n\n'
  const work = `[ work ]\r\naws_access_key_id=${keys.accessKeyId}\r\naws_secret_access_key = ${keys.secretAccessKey}\r\naws_session_token=${session.sessionToken}\n`
  writeFiles(home, { '.aws/credentials': other + work })
  const server = await checker({ keys: session, region: 'eu-west-3' })
  const region = { AWS_REGION: 'eu-west-3' }
  const ways: Readonly<Record<string, string>>[] = [
    { ...variables, AWS_SESSION_TOKEN: session.sessionToken, ...region },
    { AWS_PROFILE: 'work', AWS_DEFAULT_REGION: 'eu-west-3' },
    { AWS_SHARED_CREDENTIALS_FILE: join(home, '.aws/credentials'), AWS_PROFILE: 'work', ...region },
  ]
  for (const env of ways)
    expect(await fetched(await open(server.url, { env, home }), twoLines)).toBeUndefined()
  expect(await failureOf(open(server.url, { env: region, home }))).toMatchObject({ code: 'store_refused' })
  expect(await endOf(open(server.url, { env: { ...variables, ...region } }))).toBe('3 store_refused')
})

test.each([
  ['s3://shelf/team/assets', '/shelf/team/assets/'],
  ['s3://shelf/team/assets/', '/shelf/team/assets/'],
  [
    "s3://shelf/Bücher & 'Bilder' (1)!*+=/~ü",
    '/shelf/B%C3%BCcher%20%26%20%27Bilder%27%20%281%29%21%2A%2B%3D/~%C3%BC/',
  ],
  ['s3://shelf/100%25/a?b#c', '/shelf/100%2525/a%3Fb%23c/'],
])('a prefix is taken as it is written: %s', async (location, start) => {
  const { server, store } = await openChecker({}, { location })
  await store.put(fileOf('One\nTwo\n'), twoLines)
  expect([...server.objects.keys()]).toEqual([`${start}${twoLines.slice(0, 2)}/${twoLines}`])
  expect(await fetched(store, twoLines)).toBe('One\nTwo\n')
})

test.each<[location: string, env: Record<string, string>, message: string, exitCode: number]>([
  ['s3://', {}, 'no valid name of a bucket', 2],
  ['s3://KEY:SECRET@shelf', {}, 'no valid name of a bucket', 2],
  ['s3://shelf/a//b', {}, 'prefix with an empty part', 2],
  ['s3://shelf/\ud800', {}, 'prefix with an empty part', 2],
  ['https://host/store', {}, 'cannot be at https://', 2],
  ['', {}, 'no name', 2],
  ['s3://shelf', { AWS_ENDPOINT_URL_S3: 'http://minio.example:9000' }, 'in clear text', 2],
  ['s3://shelf', { AWS_REGION: 'eu west' }, 'AWS_REGION', 2],
  ['s3://shelf', { AWS_SECRET_ACCESS_KEY: '' }, 'AWS_SECRET_ACCESS_KEY is not set', 3],
  ['s3://shelf', { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }, 'AWS_ACCESS_KEY_ID is not set', 3],
  ['s3://shelf', { AWS_SECRET_ACCESS_KEY: 'two\nlines' }, 'characters that no key has', 3],
])('%j with %o is refused, and nothing is sent', async (location, env, message, exitCode) => {
  const failure = await failureOf(open('http://127.0.0.1:1', { location, env: { ...variables, ...env } }))
  const code = exitCode === 3 ? 'store_refused' : 'config_invalid'
  expect(failure).toEqual({ code, exitCode, message: expect.stringContaining(message) })
})

test('a wrong secret is refused before anything else, and a wrong region is named', async () => {
  const server = await checker()
  const wrong = { ...variables, AWS_SECRET_ACCESS_KEY: `${keys.secretAccessKey}x` }
  const failure = await failureOf(open(server.url, { env: wrong }))
  expect(failure).toEqual({
    code: 'store_refused',
    exitCode: 3,
    message: 'The store s3://shelf refused the request (403 SignatureDoesNotMatch).',
  })
  expect(server.requests).toHaveLength(1)
  expect(await endOf(open(server.url, { env: { ...variables, AWS_REGION: 'eu-west-3' } }))).toBe(
    '2 store_missing',
  )
  server.fail('GET', {
    kind: 'status',
    status: 301,
    code: 'PermanentRedirect',
    headers: { location: 'http://127.0.0.1:1/', 'x-amz-bucket-region': 'eu-west-3' },
  })
  const redirect = await open(server.url).catch((error: ModelgateError) => error)
  expect(redirect).toMatchObject({ code: 'store_missing', facts: { hint: 'Set AWS_REGION=eu-west-3.' } })
})

test('a bucket that does not exist and a server that is not there are told at once', async () => {
  const server = await checker()
  expect(await failureOf(open(server.url, { location: 's3://cellar/x' }))).toEqual({
    code: 'store_missing',
    exitCode: 2,
    message: 'The bucket of the store s3://cellar/x does not exist.',
  })
  const waits: number[] = []
  const closed = `http://127.0.0.1:${await closedPort()}`
  expect(await endOf(open(closed, { waits }))).toBe('6 not_sent')
  expect(waits).toEqual([500, 1000, 2000, 4000, 8000])
})

test('a server that fails for the moment is asked again, for as long as it says', async () => {
  const waits: number[] = []
  const { server, store } = await openChecker({}, { waits })
  server.fail(
    'PUT',
    { kind: 'status', status: 503, code: 'SlowDown' },
    { kind: 'reset', at: 'request' },
    { kind: 'status', status: 429, headers: { 'retry-after': '7' } },
    { kind: 'status', status: 409, code: 'OperationAborted' },
  )
  await store.put(fileOf('One\nTwo\n'), twoLines)
  expect(waits).toEqual([500, 1000, 7000, 4000])
  expect(server.objects.get(twoLinesPath)?.toString()).toBe('One\nTwo\n')
})

test('a reply that breaks off is asked for again, and a short one never passes for the whole', async () => {
  const { server, store } = await openChecker()
  await store.put(fileOf('One\nTwo\n'), twoLines)
  server.fail('GET', { kind: 'reset', at: 'body' }, { kind: 'short' })
  expect(await fetched(store, twoLines)).toBe('One\nTwo\n')
  expect(server.requests.filter((line) => line === `GET ${twoLinesPath}`)).toHaveLength(3)
})

test('wrong bytes count as absent, and the next put replaces them', async () => {
  for (const options of [{}, { checksums: 'ignored' }] as const) {
    const { server, store } = await openChecker(options)
    const path = fileOf('One\nTwo\n')
    await store.put(path, twoLines)
    server.fail('GET', { kind: 'wrong' })
    expect(await fetched(store, twoLines)).toBeUndefined()
    // Planted, by somebody who may write to the bucket: as long as the right ones.
    for (const isVouched of [true, false]) {
      server.plant(twoLinesPath, Buffer.from('Six\nTen\n'), isVouched)
      expect(await fetched(store, twoLines)).toBeUndefined()
      const before = server.requests.filter((line) => line.startsWith('PUT')).length
      await (await open(server.url)).put(path, twoLines)
      expect(await fetched(store, twoLines)).toBe('One\nTwo\n')
      expect(server.requests.filter((line) => line.startsWith('PUT'))).toHaveLength(before + 1)
    }
  }
})

test('a trace has neither keys nor signatures', async () => {
  const lines: string[] = []
  const env = { ...variables, AWS_SESSION_TOKEN: session.sessionToken }
  const { store } = await openChecker({ keys: session }, { env, trace: (line) => lines.push(line) })
  await store.put(fileOf('One\nTwo\n'), twoLines)
  expect(lines.filter((line) => line.includes('> PUT'))).toHaveLength(1)
  const secrets = [...Object.values(session), 'Signature=', 'Credential=']
  expect(lines.filter((line) => secrets.some((secret) => line.includes(secret)))).toEqual([])
})

test.each(['refused', 'ignored'] as const)(
  'a server by which checksums are %s will do',
  async (checksums) => {
    const { server, store } = await openChecker({ checksums })
    await store.put(fileOf('One\nTwo\n'), twoLines)
    await store.put(fileOf('x'), digestOf('x'))
    expect(server.written).toHaveLength(2)
    expect(await fetched(store, twoLines)).toBe('One\nTwo\n')
    // It vouches for nothing, so another process writes again what is there.
    await (await open(server.url)).put(fileOf('One\nTwo\n'), twoLines)
    expect(server.written).toHaveLength(3)
  },
)

test('a file that has changed is not stored, whatever its length', async () => {
  const { server, store } = await openChecker()
  for (const content of ['One\nSix\n', 'One\nTwo\nTen\n', 'One\n', '']) {
    expect(await endOf(store.put(fileOf(content), twoLines))).toBe('10 source_changed')
  }
  expect(await endOf(store.put('/nowhere/at/all', twoLines))).toBe('10 not_found')
  expect([...server.objects]).toEqual([])
  const path = fileOf('One\n')
  await store.put(path, digestOf('One\n'))
  appendFileSync(path, 'Two\n')
  await store.put(path, twoLines)
  await store.put(fileOf(''), digestOf(''))
  expect(server.written).toHaveLength(3)
})

test('another implementation of S3 takes it all', async () => {
  const server = await startFauxqs({ port: 0, logger: false, init: { buckets: ['shelf'] } })
  onTestFinished(() => server.stop())
  const url = `http://127.0.0.1:${server.port}`
  const store = await open(url, { location: 's3://shelf/a b/ü' })
  const path = fileOf('One\nTwo\n')
  await store.put(path, twoLines)
  await (await open(url, { location: 's3://shelf/a b/ü' })).put(path, twoLines)
  expect(await fetched(store, twoLines)).toBe('One\nTwo\n')
  expect(await fetched(store, digestOf('x'))).toBeUndefined()
  expect(await failureOf(open(url, { location: 's3://cellar' }))).toMatchObject({ code: 'store_missing' })
})
