import { expect, test } from 'vitest'
import { isLoopback } from '../src/loopback.ts'

test.each([
  ['localhost', true],
  ['localhost.', true],
  ['api.localhost', true],
  ['127.0.0.1', true],
  ['127.255.0.9', true],
  ['[::1]', true],
  ['[::ffff:7f00:1]', true],
  ['128.0.0.1', false],
  ['0.0.0.0', false],
  ['127.0.0.1.example', false],
  ['notlocalhost', false],
  ['[::2]', false],
])('%s is this machine: %s', (hostname, expected) => {
  expect(isLoopback(hostname)).toBe(expected)
})
