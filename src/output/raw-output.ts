import { OutputClosed } from '../errors.ts'
import type { Sink } from '../context.ts'
import type { Notices } from './notices.ts'
import type { Output } from './output.ts'
import { sanitise } from './sanitise.ts'
import type { Screen } from './screen.ts'
import { usageOf } from './usage.ts'

export interface RawOutputParts {
  readonly screen: Screen
  readonly notices: Notices
  readonly stdout: Sink
}

/** `--raw`: the gateway's own JSON, untouched but for what could act on a terminal, each piece ending in a newline. */
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
      pending += text.endsWith('\n') ? text : `${text}\n`
    },
    async flush() {
      write()
      await screen.settle()
    },
    async end(document) {
      write()
      notices.end(usageOf(document))
      await screen.close()
    },
    async error(error, partial) {
      if (!(error instanceof OutputClosed)) write()
      notices.error(error)
      const usage = usageOf(partial)
      if (usage !== null) notices.end(usage)
      await screen.closeAfterError()
    },
  }
}
