import { ContractError } from '../errors.ts'

/** A result is at most this large, whether it is fetched from a URL or comes as base64; a video may be larger. */
export const maxResultBytes = 2048 * 1024 ** 2

/** Decoded bytes are written in blocks of this size, so that there are few, large writes. */
const blockBytes = 393_216
const blockCharacters = (blockBytes / 3) * 4

const alphabetOnly = /^[\w+/-]*$/
const whiteSpace = /[\t\n\f\r ]+/g

/**
 * A decoder for base64 in pieces: either alphabet, with white space or without padding, and nothing else (fault E34). Node's
 * own skips invalid characters: that it returns the expected number of bytes proves that there were none.
 * @param write a block is valid only until its promise settles: fresh ones would cost more memory than is collected in time
 */
export function createBase64Decoder(write: (bytes: Uint8Array) => Promise<void>, maxBytes = maxResultBytes) {
  let block: Buffer | undefined
  let used = 0
  let total = 0
  let rest = ''
  let padding = 0

  const flush = async () => {
    if (block === undefined || used === 0) return
    total += used
    if (total > maxBytes) throw imageTooLarge()
    const full = block.subarray(0, used)
    used = 0
    await write(full)
  }

  const decodeQuanta = async (quanta: string): Promise<boolean> => {
    const size = (quanta.length / 4) * 3
    if (used + size > blockBytes) await flush()
    block ??= Buffer.allocUnsafeSlow(blockBytes)
    if (block.write(quanta, used, size, 'base64') !== size) return false
    used += size
    return true
  }

  const decode = async (text: Buffer): Promise<void> => {
    const taken = rest === '' ? 0 : Math.min(4 - rest.length, text.length)
    let quanta = rest + text.toString('latin1', 0, taken)
    rest = ''
    for (let at = taken; ;) {
      if (quanta.length % 4 > 0) {
        if (!alphabetOnly.test(quanta)) return decodeCarefully(quanta, text.subarray(at))
        rest = quanta
      } else if (quanta !== '' && !(await decodeQuanta(quanta))) {
        return decodeCarefully(quanta, text.subarray(at))
      }
      if (at === text.length) return
      const left = text.length - at
      const length = left < 4 ? left : Math.min(left & ~3, blockCharacters)
      quanta = text.toString('latin1', at, (at += length))
    }
  }

  /** The slow way, for a text with white space or padding in it. */
  const decodeCarefully = async (before: string, text: Buffer): Promise<void> => {
    const clean = (before + text.toString('latin1')).replaceAll(whiteSpace, '')
    const data = clean.replace(/={1,2}$/, '')
    if (!alphabetOnly.test(data)) throw badBase64()
    padding = clean.length - data.length
    await decode(Buffer.from(data, 'latin1'))
  }

  return {
    flush,
    /** @throws ContractError `damaged_media` */
    async push(text: Buffer) {
      if (padding === 0) return decode(text)
      const clean = text.toString('latin1').replaceAll(whiteSpace, '')
      padding += clean.length
      if (padding > 2 || /[^=]/.test(clean)) throw badBase64()
    },
    /** @returns the total number of bytes. @throws ContractError `damaged_media` */
    async end() {
      // One character is less than a byte, and a whole quantum needs no padding.
      if (rest.length === 1 || (padding > 0 && rest.length + padding !== 4)) {
        // The text may have been cut: keep what was decoded.
        await flush()
        throw badBase64()
      }
      if (rest !== '') {
        if (used + rest.length > blockBytes) await flush()
        block ??= Buffer.allocUnsafeSlow(blockBytes)
        used += block.write(rest, used, 'base64')
      }
      await flush()
      return total
    },
  }
}

function badBase64(): ContractError {
  return new ContractError('damaged_media', 'The reply contains data that is not valid base64.', {
    hint: 'See the reply with --raw.',
  })
}

function imageTooLarge(): ContractError {
  return new ContractError('reply_too_large', 'The reply contains data that is larger than 2 GiB.')
}

const scheme = 'data:'
const endsInBase64 = /;\s*base64\s*$/i
const maxHeadLength = 1024

/** Where the base64 begins in a text that may be a data URL (quirk 15); undefined until enough of it has arrived. */
function base64Start(text: string, final: boolean): number | undefined {
  const begun = text.slice(0, scheme.length).toLowerCase()
  if (begun !== scheme) return !final && scheme.startsWith(begun) ? undefined : 0
  const comma = text.indexOf(',')
  if (comma === -1 && !final && text.length < maxHeadLength) return undefined
  if (!endsInBase64.test(text.slice(0, Math.max(comma, 0)))) throw badBase64()
  return comma + 1
}

/**
 * The same for base64 or a data URL that holds it (quirk 15), which may have percent escapes (RFC 2397).
 * @throws ContractError `damaged_media`, also for any other
 */
export function createMediaDecoder(write: (bytes: Uint8Array) => Promise<void>) {
  const decoder = createBase64Decoder(write)
  /** What has arrived while it is unknown where the base64 begins; undefined afterwards. */
  let head: string | undefined = ''
  let isDataUrl = false
  /** The beginning of an escape whose end has not arrived. */
  let escape = ''
  const decode = (text: Buffer): Promise<void> => {
    if (!isDataUrl || (escape === '' && !text.includes('%'))) return decoder.push(text)
    const all = escape + text.toString('latin1')
    escape = /%[^%]?$/.exec(all)?.[0] ?? ''
    const plain = all
      .slice(0, all.length - escape.length)
      .replaceAll(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    return decoder.push(Buffer.from(plain, 'latin1'))
  }
  const begin = async (text: string, final: boolean) => {
    const start = base64Start(text, final)
    head = start === undefined ? text : undefined
    if (start === undefined) return
    isDataUrl = start > 0
    await decode(Buffer.from(text.slice(start), 'latin1'))
  }
  return {
    flush: decoder.flush,
    push: (text: Buffer): Promise<void> =>
      head === undefined ? decode(text) : begin((head + text.toString('latin1')).trimStart(), false),
    async end() {
      if (head !== undefined) await begin(head, true)
      // Keeps what was decoded, as the end of the decoder does.
      if (escape !== '') {
        await decoder.flush()
        throw badBase64()
      }
      await decoder.end()
    },
  }
}
