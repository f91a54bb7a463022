import { OutputClosed } from '../errors.ts'
import type { TextFile } from '../files/text-file.ts'
import { createCandidateText } from './candidate-text.ts'
import type { Output } from './output.ts'

/**
 * Puts the model's text into a file (`-o FILE`), exactly, and leaves everything else to another renderer.
 * Text that has arrived is never lost: when the command fails it is printed instead.
 * @param textOnly the other renderer would print nothing but the text, so it gets none unless the file fails
 */
export function outputToFile(other: Output, file: TextFile, textOnly: boolean): Output {
  const text = createCandidateText()
  const kept = new Map<number, string>()
  let committed = false

  return {
    event(event) {
      if (event.type === 'text-delta') {
        text.add(event.index, event.text)
        if (textOnly) {
          kept.set(event.index, (kept.get(event.index) ?? '') + event.text)
          return
        }
      }
      other.event(event)
    },
    raw: (json) => other.raw(json),
    async flush() {
      file.write(text.take())
      await file.flush()
      await other.flush()
    },
    async end(document) {
      file.write(text.rest('whole'))
      await file.flush()
      const saved = await file.commit()
      committed = true
      other.event({ type: 'file-save', file: saved })
      await other.end('text' in document ? { ...document, files: [...document.files, saved] } : document)
    },
    async error(error, partial) {
      if (!committed) {
        // What went wrong first is the news; a temporary file left behind is not.
        await file.discard().catch(() => {})
        if (kept.size > 0 && !(error instanceof OutputClosed)) {
          const message = `${file.path} was not finished; the text that had arrived is on standard output`
          other.event({ type: 'warning-add', message })
        }
        for (const [index, part] of kept) other.event({ type: 'text-delta', index, text: part })
      }
      await other.error(error, partial)
    },
  }
}
