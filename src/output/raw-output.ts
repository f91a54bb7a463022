import { OutputClosed } from '../errors.ts'
import type { Sink } from '../context.ts'
import { sanitise } from './gate.ts'
import type { Notices } from './notices.ts'
import type { Output } from './output.ts'
import type { PieceStream } from './redact/streams.ts'
import type { Screen } from './screen.ts'

export interface RawOutputParts {
  readonly screen: Screen
  readonly notices: Notices
  readonly stdout: Sink
}

/** `--raw`: the gateway's own JSON, unchanged but for what could act on a terminal. */
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

/** Takes the secrets out of the gateway's own JSON before anything else gets it; each piece ends in a newline. */
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
