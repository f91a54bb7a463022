import { expect, test } from 'vitest'
import { bareModel, endpointUrl, modelSegment, pathSegment } from '../../src/gateway/url.ts'
import { UsageError } from '../../src/errors.ts'

const names = ['', '.', '..', '%2e', '.%2e', '%2E%2e', 'a\nb', '\u0000', '\ud800']
const paths = ['../v1/videos', 'a/../b', 'a\\..\\b', 'a/%2E./b']

test.for([...names, ...paths])('refuses %j as a segment of a path', (text) => {
  expect(() => pathSegment(text, 'the model')).toThrow(UsageError)
  expect(() => pathSegment(text, 'the model')).toThrow('cannot be the model.')
})

test.for([
  ['gemini-2.5-pro', 'gemini-2.5-pro'],
  ['...', '...'],
  ['.a', '.a'],
  ['a/..b/c.', 'a%2F..b%2Fc.'],
  ['a/b?c#d', 'a%2Fb%3Fc%23d'],
  ['video_aGk=+/', 'video_aGk%3D%2B%2F'],
  ['%2e%2e%2f', '%252e%252e%252f'],
  ['ü😀', '%C3%BC%F0%9F%98%80'],
  ['a b', 'a%20b'],
] as const)('encodes %j', ([text, encoded]) => {
  expect(pathSegment(text, 'the model')).toBe(encoded)
})

test.for(['models/../x', 'models/..', '..', 'models/', 'x/./y'])(
  'refuses the model %j by its flag',
  (model) => {
    expect(() => modelSegment(model)).toThrow(`-m ${JSON.stringify(model)} cannot be the model.`)
  },
)

test('a model may be named as the lists of gateways name it', () => {
  const named = [modelSegment('models/x'), modelSegment('org/x'), bareModel('models/x')]
  expect(named).toEqual(['x', 'org%2Fx', 'x'])
})

test.for([
  ['https://a.test', 'https://a.test/v1/responses'],
  ['https://a.test/', 'https://a.test/v1/responses'],
  ['https://a.test/prefix//', 'https://a.test/prefix/v1/responses'],
  ['https://a.test:8443/x/y', 'https://a.test:8443/x/y/v1/responses'],
] as const)('puts an endpoint below %s', ([base, expected]) => {
  const baseUrl = new URL(base)
  expect(endpointUrl({ baseUrl }, '/v1/responses').href).toBe(expected)
  expect(baseUrl.href).toBe(new URL(base).href)
})

test('adds the query, and keeps that of the base URL', () => {
  const baseUrl = new URL('https://a.test/?region=x')
  const { search } = endpointUrl({ baseUrl }, '/v1/responses', { alt: 'sse', key: 'a&b' })
  expect(search).toBe('?region=x&alt=sse&key=a%26b')
})
