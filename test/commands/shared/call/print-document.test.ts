import { expect, test } from 'vitest'
import { homePath } from '../../../../src/commands/shared/call/print-document.ts'

test.each([
  [
    '/home/a user',
    'linux',
    'user file /home/a user/.config/x and /home/a user/y',
    'user file ~/.config/x and ~/y',
  ],
  ['/home/al', 'linux', '/home/alice/x', '/home/alice/x'],
  ['C:\\Users\\A User', 'win32', 'C:\\Users\\A User\\AppData\\x', '~\\AppData\\x'],
  ['', 'linux', '/x', '/x'],
  ['/', 'linux', '/x', '/x'],
] as const)('home %s on %s: %s', (home, platform, text, shown) => {
  expect(homePath({ home, platform }, text)).toBe(shown)
})
