import { createGrowingText, type GrowingText } from '../files/growing-text.ts'

/** Puts the text of several candidates in order: the first as it comes, the others after it. */
export interface CandidateText {
  add(index: number, text: string): void
  /** What can be written now. */
  take(): string
  /** All that is left: the end of the first candidate, then the others by index, each on a new line. */
  rest(ending: 'whole' | 'broken-off'): string
  /** The last character taken so far; empty when there was no text. */
  readonly last: string
}

export function createCandidateText(): CandidateText {
  const others = new Map<number, GrowingText>()
  let pending = ''
  let last = ''

  const taken = (text: string) => {
    if (text !== '') last = text.at(-1)!
    return text
  }
  return {
    add(index, text) {
      if (index === 0) pending += text
      else {
        if (!others.has(index)) others.set(index, createGrowingText())
        others.get(index)!.add(text)
      }
    },
    take() {
      const text = holdsBack(pending) ? pending.slice(0, -1) : pending
      pending = pending.slice(text.length)
      return taken(text)
    },
    rest(ending) {
      const finish = ending === 'whole' ? (text: string) => text : withoutHalfCharacter
      let text = finish(pending)
      pending = ''
      for (const [, other] of [...others].sort(([a], [b]) => a - b)) {
        const before = text.at(-1) ?? last
        text += (before === '' || before === '\n' ? '' : '\n') + finish(other.toString())
      }
      others.clear()
      return taken(text)
    },
    get last() {
      return last
    },
  }
}

/** Half of a surrogate pair, or a CR that may be half of a CRLF: only the next delta tells what it is. */
function holdsBack(text: string): boolean {
  const unit = text.charCodeAt(text.length - 1)
  return (unit >= 0xd800 && unit <= 0xdbff) || unit === 0x0d
}

/** Where the reply broke off inside a character, what arrived is the text before it. */
function withoutHalfCharacter(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, '')
}
