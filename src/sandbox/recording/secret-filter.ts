import { formsOf } from '../../redact/forms.ts'
import { keyFormIn } from '../../redact/key-forms.ts'
import { createMatcher, createStreamMatcher } from '../../redact/matcher.ts'
import { hideJsonSpans, stringsIn } from '../../redact/spans.ts'
import { createPieceStream, createTextStream } from '../../redact/streams.ts'

/** So much of a text is looked at again with its next piece, for what looks like a key. */
const overlap = 512

export type SecretFilter = ReturnType<typeof createSecretFilter>

/**
 * Takes secrets out of what is recorded: those in use, in every form, and notices what looks like another key. All texts
 * are bytes as Latin-1, so that no character is split between pieces.
 */
export function createSecretFilter(secrets: readonly string[]) {
  const forms = secrets
    .filter((secret) => secret !== '')
    .flatMap(formsOf)
    .map((form) => Buffer.from(form).toString('latin1'))
  const { find } = createMatcher(forms)
  let key: string | undefined
  const ends = new Map<string, string>()
  /** @param channel the text that this is the next piece of */
  const look = (piece: string, channel = '') => {
    const text = (ends.get(channel) ?? '') + piece
    key ??= keyFormIn(text)
    ends.set(channel, text.slice(-overlap))
  }
  const hide = (text: string) => hideJsonSpans(text, find(text))
  return {
    hide,
    look,
    /** @throws Error when something looked like a key and is not one in use */
    assertNoKey() {
      if (key !== undefined) throw new Error(`it holds ${key}`)
    },
    /** For a body that comes in pieces. */
    body() {
      const stream = createTextStream(createStreamMatcher(forms), true)
      const kept = (text: string) => {
        look(text)
        return [text]
      }
      return { push: (piece: string) => kept(stream.push(piece)), end: () => kept(stream.end()) }
    },
    /** For the events of a stream, also for what is split between the strings of several. */
    events() {
      const stream = createPieceStream(createStreamMatcher(forms), hide)
      const kept = (events: readonly string[]) => {
        for (const event of events) {
          look(event)
          for (const { start, end, channel } of stringsIn(event)) look(event.slice(start, end), channel)
        }
        return events
      }
      return { push: (event: string) => kept(stream.push(event)), end: () => kept(stream.end()) }
    },
  }
}
