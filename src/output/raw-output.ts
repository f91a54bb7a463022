import { FileError, OutputClosed, type ModelgateError } from '../errors.ts'
import type { Context, Sink } from '../context.ts'
import type { AtomicFile } from '../files/atomic-file.ts'
import { sanitise, type Gate } from './gate.ts'
import type { Notices } from './notices.ts'
import type { Output } from './output.ts'
import type { PieceStream } from '../redact/streams.ts'
import type { Screen } from './screen.ts'

export interface RawOutputParts {
  readonly screen: Screen
  readonly notices: Notices
  readonly stdout: Sink
}

/** `--raw`: the gateway's own JSON, unchanged except for control characters on a terminal. */
export function createRawOutput({ screen, notices, stdout }: RawOutputParts): Output {
  let pending = ''
  const write = () => {
    screen.text(stdout.isTerminal ? sanitise(pending) : pending)
    pending = ''
  }
  return {
    event(event) {
      write()
      notices.event(event)
    },
    raw(text) {
      pending += text
    },
    async flush() {
      write()
      await screen.settle()
    },
    async end(document) {
      write()
      notices.end(document)
      await screen.close()
    },
    async error(error, partial) {
      if (!(error instanceof OutputClosed)) write()
      notices.error(error, partial)
      await screen.closeAfterError()
    },
  }
}

/** Removes secrets from the gateway's own JSON before it is used; each piece ends in a newline. */
export function redactRaw(other: Output, documents: PieceStream): Output {
  const pass = (texts: readonly string[]) => texts.forEach((text) => other.raw(text))
  return {
    ...other,
    raw(text) {
      pass(documents.push(text.endsWith('\n') ? text : `${text}\n`))
    },
    async end(document) {
      pass(documents.end())
      await other.end(document)
    },
    async error(error, partial) {
      pass(documents.end())
      await other.error(error, partial)
    },
  }
}

/**
 * `--raw` for a reply that is passed on unchanged except for secrets. What standard output does not accept (a full
 * disk) has been paid for, so it is saved in the rescue folder.
 */
export function createReplyWriter(
  context: Context,
  gate: Gate,
  rescue: { readonly folder: string | undefined; readonly name: string },
) {
  const { stdout } = context
  const stream = gate.reply()
  /** Nothing needs no line feed at its end. */
  let endsLine = true
  let failure: ModelgateError | undefined
  let file: AtomicFile | undefined

  async function put(piece: Uint8Array | string) {
    if (file === undefined) {
      stdout.write(piece)
      await stdout.drain().catch(async (error: ModelgateError) => {
        failure = error
        if (!(error instanceof FileError)) throw error
        const { openRescueFile } = await import('../files/open-atomic-file.ts')
        file = await openRescueFile(context, rescue.folder, rescue.name, error)
      })
    }
    await file?.write(piece)
  }
  return {
    async write(chunk: Uint8Array): Promise<void> {
      endsLine = chunk.at(-1) === LINE_FEED
      await put(stream.push(chunk))
    },
    /** @throws FileError that names the file with what standard output did not accept */
    async commit(): Promise<void> {
      if (failure !== undefined && file === undefined) return
      await put(stream.end())
      if (!endsLine) await put('\n')
      if (failure === undefined || file === undefined) return
      const { path, rescued } = await file.commit()
      throw rescued!.amend({ message: `${failure.message} What it did not take is kept in ${path}.` })
    },
  }
}

const LINE_FEED = 0x0a
