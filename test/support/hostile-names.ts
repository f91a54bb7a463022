/** Devices of Windows, which no file can be named after, whatever the extension and the case. */
const devices = [
  ['con', 'PRN', 'Aux', 'nul', 'COM0', 'com1', 'COM9', 'COM¹', 'COM²', 'com³', 'LPT0', 'lpt1', 'LPT9'],
  ['LPT¹', 'lpt²', 'LPT³', 'CONIN$', 'conout$'],
].flat()

/** Texts that a prompt, a model's name or an id from a server may hold to reach another file (threat S7). */
export const hostileNames: readonly string[] = [
  [...devices, ...devices.map((name) => `${name}.png`), ...devices.map((name) => ` ${name} `), '', '.'],
  ['..', '...', '/', '\\', '~', '~root', '-', '--force', '-rf /', '*', '?', '%', '$HOME', '${HOME}'],
  ['%USERPROFILE%', '%2e%2e%2f', '..%c0%af..', '../../etc/passwd', '..\\..\\windows\\system32'],
  ['....//....//x', './x', '/etc/shadow', '//server/share/x', '\\\\server\\share\\x', '\\\\?\\C:\\x'],
  ['\\\\.\\PhysicalDrive0', 'C:', 'C:\\x', 'C:x', 'file:///etc/passwd', 'a:b', 'a.png:$DATA'],
  ['x::$INDEX_ALLOCATION', 'a/b', 'a\\b', 'a\0b', 'a.png\0.txt', 'a\nb', 'a\r\nb', 'a\tb', 'a\x07b'],
  ['\x1b]0;owned\x07', '\x1b[31mred', '\x9b31mred', 'a\x7fb', 'a\x85b', 'a\u2028b', 'a\u2029b'],
  ['\u202egnp.exe', 'a\u2066b\u2069', 'a\u200bb', '\ufeffx', '\u00a0', '\u3000', '\u2024\u2024\u2215x'],
  ['\uff0e\uff0e\uff0fx', '\u2215etc\u2215passwd', '\u29f8x', '\ud800', 'a\udfffb'],
  ['\u{e0041}\u{e0042}', '\u0301', '\u0301\u0301x', 'e\u0301', '\u1100\u1161\u11a8', '\u3164'],
  ['\u115f\u1160', '😀', '👩‍👩‍👧', '.hidden', '.htaccess', '.git', '.git/config', '.ssh/authorized_keys'],
  ['trailing.', 'trailing ', 'trailing. . .', ' leading', 'a<b>c', 'a|b', '"quoted"', "it's", '`id`'],
  ['$(id)', ';id', '&&id', '|id', '#hash', '{index}', '{{index}}', '{ext}', '}{', '::set-env name=X::y'],
  ['##[error]x', '<script>alert(1)</script>', 'constructor', '__proto__', 'x'.repeat(300)],
  ['ä'.repeat(300), '😀'.repeat(300), '日本'.repeat(300), `${'x'.repeat(47)}ä`, `${'../'.repeat(100)}x`],
  ['.'.repeat(5000), '-'.repeat(5000), '\u0301'.repeat(5000)],
].flat()

/** A name that every system takes: no folder, not hidden, no option, no device, whole characters. */
export function isSafeName(name: string, mostBytes: number): boolean {
  return (
    /^[\p{L}\p{N}_][\p{L}\p{N}\p{M}._-]*$/u.test(name) &&
    !/[.-]$/.test(name) &&
    !/^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\.|$)/i.test(name) &&
    Buffer.byteLength(name) <= mostBytes &&
    name.isWellFormed()
  )
}
