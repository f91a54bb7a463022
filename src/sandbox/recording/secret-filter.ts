import { formsOf, createMatcher } from '../../redact/matcher.ts'
import { keyFormIn } from '../../redact/key-forms.ts'
import { hideSpans, stringsIn } from '../../redact/spans.ts'
import { PieceStream } from '../../redact/streams.ts'

/** How much of a text is looked at again with its next piece, for what looks like a key. */
const overlap = 512

/**
 * Takes secrets out of what is recorded: those in use, in every form. All texts are bytes as Latin-1, so that no
 * character is split between pieces.
 */
export function createSecretFilter(secrets: readonly string[]) {
  const forms = secrets
    .filter((secret) => secret !== '')
    .flatMap(formsOf)
    .map((form) => Buffer.from(form).toString('latin1'))
  const { find } = createMatcher(forms)
  const hide = (text: string) => hideSpans(text, find(text), true)
  return {
    hide,
    /** For the events of a stream, also for what is split between the strings of several. @throws as `assertNoKey` */
    events(events: readonly string[]): readonly string[] {
      const stream = new PieceStream(createMatcher(forms), hide)
      const kept = [...events.flatMap((event) => stream.push(event)), ...stream.end()]
      const ends = new Map<string, string>()
      for (const event of kept) {
        assertNoKey(event)
        for (const { start, end, channel } of stringsIn(event)) {
          const text = (ends.get(channel) ?? '') + event.slice(start, end)
          assertNoKey(text)
          ends.set(channel, text.slice(-overlap))
        }
      }
      return kept
    },
  }
}

/** @throws Error when something looks like a key, which then is not one in use */
export function assertNoKey(text: string): void {
  const key = keyFormIn(text)
  if (key !== undefined) throw new Error(`it holds ${key}`)
}
