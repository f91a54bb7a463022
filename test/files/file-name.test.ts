import { expect, test } from 'vitest'
import { cutBytes, safeFileName } from '../../src/files/file-name.ts'

test.each([
  ['resp_0a1b-2c.3', 'resp_0a1b-2c.3'],
  ['../../etc/passwd', 'etc-passwd'],
  ['/absolute', 'absolute'],
  [String.raw`C:\windows\system32`, 'C-windows-system32'],
  ['..', 'file'],
  ['', 'file'],
  ['\0', 'file'],
  ['.hidden', 'hidden'],
  ['-rf', 'rf'],
  ['trailing. . ', 'trailing'],
  ['CON', '_CON'],
  ['aux.png', '_aux.png'],
  ['LPT9.tar.gz', '_LPT9.tar.gz'],
  ['con---', '_con'],
  ['console', 'console'],
  ['a\u202Egnp.exe', 'a-gnp.exe'],
  ['a\r\nb\x1b[31mc', 'a-b-31mc'],
  ['$(rm -rf ~);`x`|y&z', 'rm-rf-x-y-z'],
  ['e\u0301te\u0301', '\u00E9t\u00E9'],
  ['\u2024\u2024\u2215x', 'x'],
  ['日本', '日本'],
])('%j becomes %j', (text, name) => {
  expect(safeFileName(text)).toBe(name)
})

test('a very long text takes no long time to become a name', () => {
  expect(safeFileName('.'.repeat(1e7))).toBe('file')
  expect(safeFileName('ä'.repeat(1e7))).toBe('ä'.repeat(60))
})

test('text is cut between characters', () => {
  expect(cutBytes('aä😀b', 7)).toBe('aä😀')
  expect(cutBytes('aä😀b', 6)).toBe('aä')
})
