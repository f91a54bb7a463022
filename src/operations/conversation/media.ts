import { createHash } from 'node:crypto'
import type { FileContext } from '../../context.ts'
import { FileError, ModelgateError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { readInputFile } from '../../files/input-file.ts'
import { referencesIn, restoreMedia, type MediaReference } from '../../files/media-references.ts'

/**
 * Reads the media that kept messages refer to, and puts it back where it was.
 * @throws FileError (exit 10) for a file that is gone or has changed, which is named
 */
export async function withMedia<Value>(context: FileContext, value: Value): Promise<Value> {
  const references = referencesIn(value)
  if (references.length === 0) return value
  const contents = new Map<string, Buffer>()
  for (const reference of references) {
    if (!contents.has(reference.sha256)) contents.set(reference.sha256, await contentOf(context, reference))
  }
  return restoreMedia(value, ({ sha256 }) => contents.get(sha256)!)
}

const hint = 'Put it back, or start again without the exchange that has it: a conversation keeps no copies.'

async function contentOf(context: FileContext, { path, sha256, bytes }: MediaReference): Promise<Buffer> {
  if (path === undefined || path === '-') {
    const message = `The conversation contains ${bytes} bytes that came from standard input, of which there is no copy.`
    throw new FileError('not_found', message, { phase: 'input', billed: 'no', hint })
  }
  // A pipe is not what was read then.
  const content = await readInputFile(context, path, { pipes: false })
  if (content instanceof ModelgateError) {
    const message = `The conversation contains ${shownPath(path)}: ${content.message}`
    throw new FileError(content.code, message, { phase: 'input', billed: 'no', hint })
  }
  if (createHash('sha256').update(content).digest('hex') === sha256) return content
  const message = `The conversation contains ${shownPath(path)}, which has changed since.`
  throw new FileError('source_changed', message, { phase: 'input', billed: 'no', hint })
}
