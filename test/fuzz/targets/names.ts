import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { normaliseBaseUrl } from '../../../src/config/base-url.ts'
import { ContractError, UsageError } from '../../../src/errors.ts'
import { safeFileName } from '../../../src/files/file-name.ts'
import { parseTemplate } from '../../../src/files/output-plan.ts'
import { createUrlPolicy } from '../../../src/gateway/download/url-policy.ts'
import { endpointUrl, modelSegment, pathSegment, sameOriginTarget } from '../../../src/gateway/url.ts'
import { anyText } from '../../support/any-text.ts'
import { hostileNames, isSafeName } from '../../support/hostile-names.ts'
import { textOf } from '../arbitraries.ts'
import { target } from '../target.ts'

const hostileText = fc.oneof(
  anyText({ maxLength: 300 }),
  fc.constantFrom(...hostileNames),
  textOf(
    ['.', '/', '\\', 'con', 'COM¹', ' ', '-', '\0', 'ä', '😀', '\u0301', 'a'],
    fc.constantFrom(...hostileNames),
  ),
)

const fileName = target({
  name: 'file-name',
  promises: 'every text gives a name that all systems accept',
  cost: 'trivial',
  input: hostileText,
  check(text) {
    const name = safeFileName(text)
    assert.ok(isSafeName(name, 121))
    // The longest ones have an underscore too many to be taken as they are.
    if (Buffer.byteLength(name) <= 120) assert.equal(safeFileName(name), name)
  },
})

const tokens = ['{index}', '{ext}', '{model}', '{date}', '{slug}', '{id}', '{{', '}}', '{', '}', '{x}', '{}']

const template = target({
  name: 'output-template',
  promises: 'no prompt, model or id changes the folder of an output, or makes a name that a system refuses',
  cost: 'cheap',
  input: fc.record({
    name: textOf([...tokens, 'a', '-', '.', 'con', 'é']),
    folder: fc.constantFrom('', 'out/', 'out/deep/', '../'),
    prompt: hostileText,
    model: hostileText,
    id: hostileText,
    extension: fc.constantFrom('png', 'webp', 'mp4', 'n'),
  }),
  check({ name, folder, prompt, model, id, extension }) {
    const now = Date.UTC(2026, 7, 20)
    const values = { index: 3, extension, model, prompt, id, now }
    const path = parseTemplate(folder + name).expand(values)
    assert.ok(path.startsWith(folder))
    const last = path.slice(folder.length)
    // What is written in the template is the user's; what is filled in adds no folder and no control character.
    assert.ok(!/[/\\\p{Cc}]/u.test(last))
    assert.ok(last.isWellFormed())
    for (const token of ['{slug}', '{model}', '{id}']) {
      assert.ok(isSafeName(parseTemplate(token).expand(values), 81))
    }
  },
})

const almostUrl = fc
  .tuple(
    fc.constantFrom('http', 'https', 'HTTPS', 'ws', 'file', ''),
    fc.constantFrom('://', ':', '//', ':\\\\', ':///'),
    textOf(
      ['@', ':', '/', '\\', '?', '#', '.', '%2e', '%00', 'a', 'localhost', '127.1', '[::1]', '\t'],
      fc.string(),
    ),
  )
  .map((parts) => parts.join(''))
const webUrl = fc
  .tuple(fc.constantFrom('http://', 'https://'), fc.domain(), fc.array(anyText({ maxLength: 9 })), anyText())
  .map(([scheme, domain, path, query]) => {
    const segments = path.map((segment) => `/${encodeURIComponent(segment)}`).join('')
    return `${scheme}${domain}${segments}${query === '' ? '' : `?${encodeURIComponent(query)}`}`
  })
const anyUrl = fc.oneof(almostUrl, webUrl, anyText())

const baseUrl = target({
  name: 'base-url',
  promises: 'any text is a plain address of its own host, or refused without repeating it',
  cost: 'trivial',
  input: anyUrl,
  check(text) {
    const url = unlessRefused(() => normaliseBaseUrl(text, 'flag --base-url'))
    if (url === undefined) return
    assert.equal(url.username + url.password + url.search + url.hash, '')
    // Without TLS only to this machine, since the key would go there in clear text.
    const isLocal = /^((.*\.)?localhost\.?|127\.\d+\.\d+\.\d+|\[::(1|ffff:7f[0-9a-f]{2}:[0-9a-f]+)\])$/.test(
      url.hostname,
    )
    assert.ok(url.protocol === 'https:' || (url.protocol === 'http:' && isLocal))
    assert.ok(!/\/(v1|v1beta)?$/.test(url.pathname.replace(/^\/$/, '')))
    const endpoint = endpointUrl({ baseUrl: url }, '/v1/responses')
    assert.deepEqual([endpoint.origin, endpoint.pathname.endsWith('/v1/responses')], [url.origin, true])
  },
})

function unlessRefused<Value>(make: () => Value) {
  try {
    return make()
  } catch (error) {
    if (error instanceof UsageError) return undefined
    throw error
  }
}

const pathTexts = textOf(
  ['.', '..', '/', '\\', '%2e', '%2f', '%', '?', '#', ':', '@', 'models/', ' ', '\0'],
  anyText(),
)

const segment = target({
  name: 'path-segment',
  promises: 'no id and no model leads to another endpoint',
  cost: 'trivial',
  input: pathTexts,
  check(text) {
    for (const encode of [(id: string) => pathSegment(id, 'the id'), modelSegment]) {
      const encoded = unlessRefused(() => encode(text))
      if (encoded === undefined) continue
      const url = new URL(`https://gateway.test/v1/things/${encoded}/end?a=1`)
      assert.equal(url.pathname, `/v1/things/${encoded}/end`)
      assert.deepEqual([url.search, url.hash, url.host], ['?a=1', '', 'gateway.test'])
    }
  },
})

/** Networks that are not public, as first and last address (IANA's registry of special addresses). */
const notPublic = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '255.255.255.255'],
].map((range) => range.map(numberOf) as [number, number])

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

const bytesOf = (address: number) => [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256)
const hexOf = (address: number) => address.toString(16).padStart(8, '0')

/** The ways to write an IPv4 address in a URL, those inside an IPv6 address among them. */
const notations: Readonly<Record<string, (address: number) => string>> = {
  dotted: (address) => bytesOf(address).join('.'),
  number: String,
  hexadecimal: (address) => `0x${hexOf(address)}`,
  octal: (address) =>
    bytesOf(address)
      .map((byte) => `0${byte.toString(8)}`)
      .join('.'),
  short: (address) => `${bytesOf(address)[0]}.${address % 2 ** 24}`,
  dot: (address) => `${bytesOf(address).join('.')}.`,
  wide: (address) => bytesOf(address).join('。'),
  mapped: (address) => `[::ffff:${bytesOf(address).join('.')}]`,
  nat64: (address) => `[64:ff9b::${hexOf(address).slice(0, 4)}:${hexOf(address).slice(4)}]`,
  sixToFour: (address) => `[2002:${hexOf(address).slice(0, 4)}:${hexOf(address).slice(4)}::1]`,
}

const anyAddress = fc.oneof(
  fc.integer({ min: 0, max: 0xff_ff_ff_ff }),
  fc.constantFrom(...notPublic).chain(([first, last]) => fc.integer({ min: first, max: last })),
)

const resultAddress = target({
  name: 'result-address',
  promises: 'a result is fetched from an address exactly when that is public, however it is written',
  cost: 'trivial',
  input: fc.tuple(anyAddress, fc.constantFrom(...Object.keys(notations))),
  async check([address, notation]) {
    const url = new URL(`https://${notations[notation]!(address)}/a.png`)
    const policy = createUrlPolicy({ gateway: { baseUrl: gateway }, allowPrivate: false, network: nowhere })
    const isPublic = !notPublic.some(([first, last]) => address >= first && address <= last)
    assert.equal(await isAllowed(policy.check(url)), isPublic)
  },
})

const gateway = new URL('https://gateway.test/v1')
const noBody = (async function* () {})()
const nowhere = { resolve: async () => [], reach: (address: { address: string; family: number }) => address }

async function isAllowed(check: Promise<void>): Promise<boolean> {
  const error: unknown = await check.catch((error: unknown) => error)
  if (error === undefined) return true
  if (error instanceof ContractError && error.code === 'url_refused') return false
  throw error
}

const resultUrl = target({
  name: 'result-url',
  promises: 'no URL of a result leaves https or carries credentials, and no redirect of a request its origin',
  cost: 'trivial',
  input: fc.tuple(anyUrl, fc.constantFrom(301, 302, 303, 307, 308, 300, 304)),
  async check([text, status]) {
    const policy = createUrlPolicy({ gateway: { baseUrl: gateway }, allowPrivate: true, network: nowhere })
    const url = URL.parse(text, gateway)
    if (url !== null && (await isAllowed(policy.check(url)))) {
      assert.deepEqual([url.protocol, url.username, url.password], ['https:', '', ''])
    }
    const reply = { status, headers: { location: text }, body: noBody, close() {} }
    const next = sameOriginTarget(reply, gateway)
    assert.ok(next === undefined || next.origin === 'https://gateway.test')
    if (status === 300 || status === 304) assert.equal(next, undefined)
  },
})

export const nameTargets = [fileName, template, baseUrl, segment, resultAddress, resultUrl]
