import { createGrowingText, type GrowingText } from '../growing-text.ts'

/** Orders the text of several candidates: the first is streamed, the others follow it. */
export class CandidateTexts {
  readonly #others = new Map<number, GrowingText>()
  readonly #first: GrowingText | undefined
  #pending = ''
  #last = ''

  /** @param keeps whether all of it may be wanted again */
  constructor(keeps = false) {
    this.#first = keeps ? createGrowingText() : undefined
  }

  add(index: number, text: string): void {
    if (index === 0) {
      this.#pending += text
      this.#first?.add(text)
      return
    }
    const other = this.#others.get(index) ?? createGrowingText()
    other.add(text)
    this.#others.set(index, other)
  }

  /** What can be written now: not half of a surrogate pair, nor a CR that may be part of a CRLF. */
  take(): string {
    const text = this.#pending.replace(/[\r\ud800-\udbff]$/, '')
    this.#pending = this.#pending.slice(text.length)
    return this.#taken(text)
  }

  /** The rest: the end of the first candidate, then the others by index, each on a new line. */
  rest(ending: 'whole' | 'broken-off'): readonly string[] {
    // A reply that has broken off may end with half of a character.
    const finish = (text: string) => (ending === 'whole' ? text : text.replace(/[\ud800-\udbff]$/, ''))
    const texts = [this.#taken(finish(this.#pending))]
    this.#pending = ''
    for (const [, other] of [...this.#others].sort(([a], [b]) => a - b)) {
      const lineEnd = this.#last === '' || this.#last === '\n' ? '' : '\n'
      texts.push(this.#taken(lineEnd + finish(other.toString())))
    }
    return texts
  }

  /** All of it once more, where it is kept: nothing has been taken. */
  begin(): void {
    this.#pending = this.#first?.toString() ?? ''
    this.#last = ''
  }

  #taken(text: string): string {
    if (text !== '') this.#last = text.at(-1)!
    return text
  }
}
