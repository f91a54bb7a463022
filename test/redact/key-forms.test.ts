import { expect, test } from 'vitest'
import { keyFormIn } from '../../src/redact/key-forms.ts'

const x = (count: number) => 'xY9_'.repeat(count).slice(0, count)
const capitals = (count: number) => 'Q7'.repeat(count).slice(0, count)

test.each([
  [`sk-${x(20)}`, 'a key (sk-…)'],
  [`"sk-proj-${x(30)}"`, 'a key (sk-…)'],
  [`AIza${x(35)}`, 'a key (AIza…)'],
  [`ya29.${x(20)}`, 'an access token (ya29.…)'],
  [`Authorization: Bearer ${x(20)}`, 'a bearer token'],
  [`authorization: bearer  ${x(20)}`, 'a bearer token'],
  [`BEARER ${x(16)}.~+/`, 'a bearer token'],
  [`AKIA${capitals(16)}`, 'a key (AKIA…)'],
  [`ASIA${capitals(16)}`, 'a key (AKIA…)'],
  [`ghp_${x(36)}`, 'a token (ghp_…)'],
  [`gho_${x(36)}`, 'a token (ghp_…)'],
  [`ghu_${x(36)}`, 'a token (ghp_…)'],
  [`ghs_${x(36)}`, 'a token (ghp_…)'],
  [`ghr_${x(36)}`, 'a token (ghp_…)'],
  [`eyJ${x(10)}.eyJ${x(10)}.${x(10)}`, 'a JSON Web Token'],
  [`https://host/file?a=1&sig=${x(16)}%2F+/`, 'a signed URL'],
  [`?Signature=${x(20)}`, 'a signed URL'],
  [`?X-Amz-Signature=${x(20)}`, 'a signed URL'],
  [`?X-Goog-Signature=${x(20)}`, 'a signed URL'],
  ['-----BEGIN PRIVATE KEY-----', 'a private key'],
  ['-----BEGIN RSA PRIVATE KEY-----', 'a private key'],
])('%s is %s', (text, what) => {
  expect(keyFormIn(text)).toBe(what)
  expect(keyFormIn(`The value ${text} is there.`)).toBe(what)
})

test.each([
  ['one character less than a key', `sk-${x(19)}`],
  ['a word without a digit', `sk-${'x'.repeat(40)}`],
  ['the end of a longer word', `task-${x(30)}`],
  ['a piece of base64', `/sk-${x(30)}`],
  ['one character less than a key', `AIza${x(34)}`],
  ['one character more than a key', `AIza${x(36)}`],
  ['a piece of base64', `+AIza${x(35)}`],
  ['one character less than a token', `ya29.${x(19)}`],
  ['another text than a token', `ya29x${x(20)}`],
  ['a piece of base64', `xya29.${x(20)}`],
  ['one character less than a token', `Bearer ${x(19)}`],
  ['a word that ends so', `forbearer ${x(20)}`],
  ['a token after too many spaces', `Bearer${' '.repeat(9)}${x(20)}`],
  ['one character less than a key', `AKIA${capitals(15)}`],
  ['one character more than a key', `AKIA${capitals(17)}`],
  ['small letters', `AKIA${capitals(15)}q`],
  ['a piece of base64', `xAKIA${capitals(16)}`],
  ['one character less than a token', `ghp_${x(35)}`],
  ['another letter than a token has', `ghx_${x(36)}`],
  ['a piece of base64', `/ghp_${x(36)}`],
  ['two parts of a token', `eyJ${x(10)}.eyJ${x(10)}`],
  ['a token with a short beginning', `eyJ${x(9)}.eyJ${x(10)}.${x(10)}`],
  ['a token with a short middle', `eyJ${x(10)}.eyJ${x(9)}.${x(10)}`],
  ['a token with a short end', `eyJ${x(10)}.eyJ${x(10)}.${x(9)}`],
  ['a piece of base64', `xeyJ${x(10)}.eyJ${x(10)}.${x(10)}`],
  ['a short signature', `?sig=${x(19)}`],
  ['another parameter', `?mysig=${x(20)}`],
  ['no parameter', `sig=${x(20)}`],
  ['a public key', '-----BEGIN PUBLIC KEY-----'],
  ['a heading', 'PRIVATE KEY'],
  ['nothing', ''],
])('%s is no key: %s', (_, text) => {
  expect(keyFormIn(text)).toBeUndefined()
})
