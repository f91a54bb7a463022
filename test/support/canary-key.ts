import { randomInt } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject } from 'vitest'
import { formsIn, placesBelow } from './find-canary.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** What every key of this run of the suite holds (`watch-suite.ts`): 16 letters and digits. */
    readonly canary: string
  }
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

const random = (length: number) => Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')

/**
 * A key of 40 characters that nothing else holds. Some of them look different in JSON, in a URL and in base64. All keys of
 * a run of the suite have 16 characters in common, which are looked for wherever a test has left something.
 */
export function canaryKey(): string {
  return `${random(8)}+${inject('canary')}/"${random(4)}%\\${random(7)}`
}

/**
 * Fails when a text holds the key, in any form in which a program may write it: as it is, in base64 at any offset,
 * in hexadecimal, percent-encoded, as a JSON string, or one half of it.
 * @param where names the text in the failure, which must not repeat it
 */
export function expectNoKey(where: string, text: string | Buffer, key: string): void {
  const searched = (typeof text === 'string' ? text : text.toString('latin1')).toLowerCase()
  const forms = Object.entries(formsOf(key)).filter(([, form]) => searched.includes(form.toLowerCase()))
  const names = forms.map(([name]) => name)
  expect(names, `forms of the key in ${where}`).toEqual([])
}

/** The same for the names and contents of all files below a folder. */
export function expectNoKeyBelow(folder: string, key: string): void {
  if (!existsSync(folder)) return
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    expectNoKey('a file name', path, key)
    if (entry.isSymbolicLink()) expectNoKey('a link', readlinkSync(path), key)
    if (entry.isFile()) expectNoKey(path, readFileSync(path), key)
  }
}

/** Fails when what a program has written holds any key of this run of the suite. @param where names it */
export function expectNoCanary(where: string, text: string | Buffer): void {
  const forms = formsIn(typeof text === 'string' ? Buffer.from(text) : text, inject('canary'))
  expect(forms, `forms of a key in ${where}`).toEqual([])
}

/** The same for all that is below a folder. */
export function expectNoCanaryBelow(folder: string): void {
  expect(placesBelow(folder, inject('canary')), 'places of a key').toEqual([])
}

function formsOf(key: string): Record<string, string> {
  const hex = Buffer.from(key).toString('hex')
  return {
    raw: key,
    'first half': key.slice(0, 20),
    'last half': key.slice(-20),
    hexadecimal: hex,
    'percent-encoded': encodeURIComponent(key),
    'as a URL writes it': new URL(`http://host/?${key}`).search.slice(1),
    'in JSON': JSON.stringify(key).slice(1, -1),
    ...base64Forms('base64', key),
    ...base64Forms('base64url', key),
  }
}

/** What stands in front of a key decides how its base64 looks: all three ways, without the edges it shares. */
function base64Forms(encoding: 'base64' | 'base64url', key: string): Record<string, string> {
  const forms = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), Buffer.from(key)]).toString(encoding)
    return [`${encoding} at offset ${offset}`, text.slice(4, 52)] as const
  })
  return Object.fromEntries(forms)
}
