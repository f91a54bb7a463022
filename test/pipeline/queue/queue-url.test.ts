import { expect, test } from 'vitest'
import { redisOptions } from '../../../src/pipeline/queue/redis-server.ts'
import { passwordsOf, readQueueUrl, reasonOf } from '../../../src/pipeline/queue/queue-url.ts'
import { failureOf } from '../../support/config-place.ts'

test.each([
  ['postgres://me:secret@db.example/jobs?sslmode=require', 'postgres', 'postgres://db.example/jobs'],
  ['postgresql://db.example:5433/jobs', 'postgres', 'postgresql://db.example:5433/jobs'],
  ['postgres:///jobs?host=/run/postgresql', 'postgres', 'postgres:///jobs'],
  ['redis://localhost', 'redis', 'redis://localhost'],
  [' rediss://:secret@cache.example:6380/2 ', 'redis', 'rediss://cache.example:6380/2'],
  ['valkey://[::1]:6379/', 'redis', 'valkey://[::1]:6379'],
])('%s', (text, kind, shown) => {
  expect(readQueueUrl(text)).toMatchObject({ kind, shown })
})

test('the other names of a protocol are the client’s own', () => {
  expect(readQueueUrl('postgresql://me:a%20b@h/d?x=1').href).toBe('postgres://me:a%20b@h/d?x=1')
  expect(readQueueUrl('valkeys://h').href).toBe('rediss://h')
})

const badRedis = 'The address of a queue on Redis has a host, the number of a database or none, no options.'

test.each([
  ['secret', 'The address of the queue is not a URL.'],
  ['redis://me:secret@h:65536/1', 'The address of the queue is not a URL.'],
  ['https://me:secret@example.com', 'A queue cannot be at a URL with https://.'],
  ['redis:secret', badRedis],
  ['redis://h/secret', badRedis],
  ['redis://h?password=secret', badRedis],
])('%s is refused, and not repeated', async (text, message) => {
  const failure = await failureOf(() => readQueueUrl(text))
  expect(failure.split('\n').slice(0, 2)).toEqual([expect.stringMatching(/^2 /), message])
  expect(failure).not.toContain('secret')
})

test('the reason of an error has no password of the URL; of several it is that of the first', () => {
  const url = readQueueUrl('postgres://someone:p%40ss@h/d?sslpassword=hidden')
  const error = new Error('bad p@ss (p%40ss) of someone with hidden\nDETAIL: p@ss')
  expect(reasonOf(error, url)).toBe('bad *** (***) of someone with ***.')
  const several = new AggregateError([new Error('connect ECONNREFUSED ::1:5432')])
  expect(reasonOf(several, url)).toBe('connect ECONNREFUSED ::1:5432.')
})

test('a certificate is asked for by a name, never by an address', () => {
  expect(redisOptions(readQueueUrl('rediss://cache.example')).tls).toEqual({
    rejectUnauthorized: true,
    servername: 'cache.example',
  })
  for (const host of ['127.0.0.1', '[::1]']) {
    expect(redisOptions(readQueueUrl(`rediss://${host}`)).tls).toEqual({ rejectUnauthorized: true })
  }
})

test('the passwords of an address are known as they are written and as they are meant', () => {
  const url = readQueueUrl('postgres://someone:p%40ss@h/d?sslmode=verify-full&sslpassword=hid%20den')
  expect(passwordsOf(url)).toEqual(['p%40ss', 'p@ss', 'hid den'])
  expect(passwordsOf(readQueueUrl('redis://h'))).toEqual([])
})
