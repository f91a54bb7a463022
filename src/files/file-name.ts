// Longer names are refused by some systems once a suffix and a folder are added.
const maxBytes = 120

// Windows opens a device for these, with any extension, in any folder.
const deviceName = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\.|$)/i

/**
 * Makes any text (a response id, a model's name) usable as one file name on every system: letters, digits,
 * dots, dashes and underscores only, no leading dot or dash, no device name, at most 121 bytes of UTF-8.
 * Never empty, never a path. Different texts may give one name: whoever writes must not overwrite.
 */
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

/** Whether Windows takes the name for one of its devices, such as `aux.png`. */
export function isDeviceName(name: string): boolean {
  return deviceName.test(name)
}

/** Cuts text to a number of UTF-8 bytes, between characters. */
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
