import { OutputClosed } from '../errors.ts'
import type { Sink } from '../context.ts'
import { type Gate, sanitise } from './gate.ts'
import { type Notices, usageOf } from './notices.ts'
import type { Output } from './output.ts'
import type { Screen } from './screen.ts'

export interface RawOutputParts {
  readonly screen: Screen
  readonly notices: Notices
  readonly stdout: Sink
  readonly gate: Gate
}

/** `--raw`: the gateway's own JSON, untouched but for secrets, and for what could act on a terminal; each piece ending in a newline. */
export function createRawOutput({ screen, notices, stdout, gate }: RawOutputParts): Output {
  const documents = gate.documents()
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
      pending += documents.push(text.endsWith('\n') ? text : `${text}\n`).join('')
    },
    async flush() {
      write()
      await screen.settle()
    },
    async end(document) {
      pending += documents.end().join('')
      write()
      notices.end(usageOf(document))
      await screen.close()
    },
    async error(error, partial) {
      pending += documents.end().join('')
      if (!(error instanceof OutputClosed)) write()
      notices.error(error)
      const usage = usageOf(partial)
      if (usage !== null) notices.end(usage)
      await screen.closeAfterError()
    },
  }
}
