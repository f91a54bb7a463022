import { OutputClosed } from '../errors.ts'
import type { OutputEvent } from '../contract/output-event.ts'
import { createCandidateText } from './candidate-text.ts'
import type { Notices } from './notices.ts'
import type { Output } from './output.ts'
import type { Screen } from './screen.ts'
import { usageOf } from './usage.ts'

export interface TextOutputParts {
  readonly screen: Screen
  readonly notices: Notices
  /** How the text is written: as it is, or with what could act on a terminal made visible. */
  readonly show: (text: string) => string
  /** Show the model's reasoning beside its text. */
  readonly showReasoning: boolean
}

/**
 * The model's words on standard output, plain or for a terminal.
 * Text is only collected by `event` and written by `flush`, in one piece for all the events of a network chunk.
 */
export function createTextOutput({ screen, notices, show, showReasoning }: TextOutputParts): Output {
  const text = createCandidateText()
  const reasoning = createCandidateText()

  const writeText = (part: string) => screen.text(show(part))
  const writePending = () => {
    screen.aside(reasoning.take())
    writeText(text.take())
  }
  const finishText = (ending: 'whole' | 'broken-off') => {
    screen.aside(reasoning.rest(ending))
    writeText(text.rest(ending))
    if (text.last !== '' && text.last !== '\n') screen.text('\n')
  }
  return {
    event(event: OutputEvent) {
      switch (event.type) {
        case 'text-delta':
          text.add(event.index, event.text)
          break
        case 'reasoning-delta':
          if (!showReasoning) break
          // Words after the text come after it on the screen as well.
          writeText(text.take())
          reasoning.add(0, event.text)
          break
        case 'tool-delta':
          // The call is reported when it is whole.
          break
        default:
          writePending()
          notices.event(event)
      }
    },
    raw() {},
    async flush() {
      writePending()
      await screen.settle()
    },
    async end(document) {
      finishText('whole')
      notices.end(usageOf(document))
      await screen.close()
    },
    async error(error, partial) {
      if (!(error instanceof OutputClosed)) finishText('broken-off')
      notices.error(error)
      const usage = usageOf(partial)
      if (usage !== null) notices.end(usage)
      await screen.closeAfterError()
    },
  }
}
