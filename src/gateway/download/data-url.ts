import { ContractError } from '../../errors.ts'
import { downloadTooLarge, emptyDownload } from './transfer.ts'
import { createBase64Decoder } from '../images/base64-decoder.ts'

/**
 * The content of a `data:` URL, decoded without any network (RFC 2397).
 * @returns its media type and the number of bytes written
 * @throws ContractError `bad_data_url`, `bad_base64`, `download_too_large`, `empty_download`
 */
export async function readDataUrl(
  url: string,
  write: (bytes: Uint8Array) => Promise<void>,
  maxBytes: number,
): Promise<{ readonly bytes: number; readonly contentType: string }> {
  const comma = url.indexOf(',')
  if (comma === -1) throw badDataUrl()
  const head = url.slice('data:'.length, comma)
  let bytes = 0
  const add = async (piece: Uint8Array) => {
    bytes += piece.length
    if (bytes > maxBytes) throw downloadTooLarge(maxBytes)
    await write(piece)
  }
  const contentType = head.replace(/;\s*base64\s*$/i, '').trim() || 'text/plain;charset=US-ASCII'
  const content = decodePercent(Buffer.from(url.slice(comma + 1)))
  if (/;\s*base64\s*$/i.test(head)) {
    const decoder = createBase64Decoder(add)
    await decoder.push(content)
    await decoder.end()
  } else if (content.length > 0) await add(content)
  if (bytes === 0) throw emptyDownload()
  return { bytes, contentType }
}

const PERCENT = 37

/** Byte by byte: what is escaped need not be text. */
function decodePercent(bytes: Buffer): Buffer {
  if (!bytes.includes(PERCENT)) return bytes
  const plain = bytes
    .toString('latin1')
    .replaceAll(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(plain, 'latin1')
}

/** The same for content that comes in pieces. Half an escape is held back until its rest has come. */
export function createPercentDecoder() {
  let held: Buffer = Buffer.alloc(0)
  return {
    push(piece: Buffer): Buffer {
      const bytes = held.length === 0 ? piece : Buffer.concat([held, piece])
      const last = bytes.lastIndexOf(PERCENT)
      const end = last === -1 || last + 2 < bytes.length ? bytes.length : last
      // A copy: what it was part of is not kept.
      held = Buffer.from(bytes.subarray(end))
      return decodePercent(bytes.subarray(0, end))
    },
    /** What has been held back: no escape. */
    end: (): Buffer => held,
  }
}

function badDataUrl(): ContractError {
  return new ContractError('bad_data_url', 'The data URL of the reply has no content.', { billed: 'no' })
}
