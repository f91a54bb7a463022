/** Both alphabets, data URLs, white space and missing padding; undefined for any other text, and without bytes. */
export function decodeBase64(text: string): Buffer | undefined {
  const head = /^\s*data:[^,]{0,1024};\s*base64\s*,/i.exec(text)?.[0].length ?? 0
  const body = head === 0 ? text : text.slice(head)
  const end = body.indexOf('=')
  if (end !== -1 && !/^[=\s]*$/.test(body.slice(end))) return undefined
  const digits = (end === -1 ? body : body.slice(0, end)).replaceAll(/\s+/g, '')
  // Node's decoder skips invalid characters, so compare the length.
  const size = Math.floor((digits.length * 3) / 4)
  const bytes = Buffer.from(digits, 'base64')
  return size > 0 && bytes.length === size && digits.length % 4 !== 1 ? bytes : undefined
}
