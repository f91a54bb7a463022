import type { SavedFile } from '../contract/text-event.ts'
import type { OutputDocument } from '../contract/output-event.ts'
import { FileError, ModelgateError, OutputClosed } from '../errors.ts'
import { createGrowingText, type GrowingText } from '../files/growing-text.ts'
import type { TextFile } from '../files/text-file.ts'
import { createCandidateText } from './candidate-text.ts'
import type { Output } from './output.ts'

/**
 * Puts the model's text into a file (`-o FILE`), exactly, and leaves everything else to another renderer.
 * Text that has arrived is never lost: when the command fails it is printed instead. An answer that is whole,
 * and only does not match its schema, is written all the same.
 * @param textOnly the other renderer would print nothing but the text, so it gets none unless the file fails
 */
export function outputToFile(other: Output, file: TextFile, textOnly: boolean): Output {
  const text = createCandidateText()
  const kept = new Map<number, GrowingText>()
  let committed = false
  /** Why nothing more is written to the file. */
  let failure: FileError | undefined

  /** The rest of the text has been paid for, too: it is waited for, and goes where the text goes then. */
  const writeOut = async () => {
    if (failure !== undefined) return
    await file.flush().catch((error: unknown) => {
      if (!(error instanceof FileError)) throw error
      failure = error
    })
  }
  const commit = async (): Promise<SavedFile> => {
    file.write(text.rest('whole'))
    await writeOut()
    if (failure !== undefined) throw failure
    const { rescued, ...saved } = await file.commit()
    committed = true
    if (rescued !== undefined) throw rescued
    other.event({ type: 'file-save', file: saved })
    return saved
  }
  /** Gives the text back to where it was kept from. */
  const giveBack = async (warning: string | undefined) => {
    // What went wrong first is the news; a temporary file left behind is not.
    await file.discard().catch(() => {})
    if (warning !== undefined) other.event({ type: 'warning-add', message: warning })
    for (const [index, part] of kept) other.event({ type: 'text-delta', index, text: part.toString() })
  }
  /** What becomes of the file when the command fails. */
  const settle = async (error: ModelgateError): Promise<SavedFile | undefined> => {
    const isNews = kept.size > 0 && !(error instanceof OutputClosed)
    const unfinished = `${file.path} was not finished; the text that had arrived is on standard output`
    if (error.exit !== 'schema') return void (await giveBack(isNews ? unfinished : undefined))
    try {
      return await commit()
    } catch (reason) {
      if (!(reason instanceof ModelgateError)) throw reason
      if (committed) other.event({ type: 'warning-add', message: reason.message })
      else await giveBack(`${reason.message}${isNews ? ' The text is on standard output' : ''}`)
      return undefined
    }
  }

  return {
    event(event) {
      if (event.type === 'text-delta') {
        text.add(event.index, event.text)
        if (textOnly) {
          if (!kept.has(event.index)) kept.set(event.index, createGrowingText())
          kept.get(event.index)!.add(event.text)
          return
        }
      }
      other.event(event)
    },
    raw: (json) => other.raw(json),
    async flush() {
      file.write(text.take())
      await writeOut()
      await other.flush()
    },
    async end(document) {
      await other.end(withFile(document, await commit()))
    },
    async error(error, partial) {
      const saved = committed ? undefined : await settle(error)
      await other.error(error, saved && partial ? withFile(partial, saved) : partial)
    },
  }
}

function withFile(document: OutputDocument, saved: SavedFile): OutputDocument {
  return 'text' in document ? { ...document, files: [...document.files, saved] } : document
}
