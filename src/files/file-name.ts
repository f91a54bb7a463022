import { basename, extname } from 'node:path'

// Leaves room for a suffix and a folder on systems with short limits.
const maxBytes = 120

/** Windows opens a device for these, with any extension, in any folder. */
const deviceName = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\.|$)/i

/** Never empty, never a path. Different texts may give the same name: a caller must not overwrite. */
export function safeFileName(text: string): string {
  const cleaned = text
    .slice(0, 4 * maxBytes)
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{N}\p{M}._]+/gu, '-')
    .replace(/^[.\p{M}-]+/u, '')
  const trimmed = cutBytes(cleaned, maxBytes).replace(/[.-]+$/, '')
  if (trimmed === '') return 'file'
  return isDeviceName(trimmed) ? `_${trimmed}` : trimmed
}

/** Whether Windows reserves the name for one of its devices, such as `aux.png`. */
export function isDeviceName(name: string): boolean {
  return deviceName.test(name)
}

export function cutBytes(text: string, bytes: number): string {
  let length = 0
  let end = 0
  for (const character of text) {
    length += Buffer.byteLength(character)
    if (length > bytes) break
    end += character.length
  }
  return text.slice(0, end)
}

const maxNameBytes = 255

/** `hero.png` becomes `hero-2.png`; a name that would get too long is cut before the number. */
export function numberedName(name: string, number: number): string {
  return withEnding(name, `-${number}`)
}

export function damagedName(name: string): string {
  return withEnding(name, '.damaged')
}

function withEnding(name: string, addition: string): string {
  const extension = extname(name)
  const ending = addition + extension
  const stem = name.slice(0, name.length - extension.length)
  return cutBytes(stem, maxNameBytes - Buffer.byteLength(ending)) + ending
}

export function numberedPath(path: string, number: number): string {
  const name = basename(path)
  return path.slice(0, path.lastIndexOf(name)) + numberedName(name, number)
}

/** `out/hero-partial-1.png`. Never cut: its end may distinguish the images. @param partial from 0 */
export function partialPath(path: string, partial: number): string {
  const extension = extname(path)
  return `${path.slice(0, path.length - extension.length)}-partial-${partial + 1}${extension}`
}
