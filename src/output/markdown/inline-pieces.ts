import type { LinkTarget } from './link-targets.ts'

/** How a piece of text is meant; they add up. */
export const strong = 1
export const emphasis = 2
export const strikethrough = 4
export const code = 8
export const html = 16

/** A piece of inline text. */
export interface Piece {
  readonly text: string
  style: number
  /** Shared by all pieces of one link. */
  link: Link | undefined
  /** Marks of a style are shown where the style cannot be; those of links and images stand around their text. */
  mark: 'style' | 'opening' | 'closing' | undefined
  /** Where it begins in the source. */
  readonly start: number
}

export interface Link extends LinkTarget {
  readonly kind: 'link' | 'image' | 'autolink'
}

/** A run of `*`, `_` or `~`. */
export interface DelimiterRun {
  readonly character: string
  readonly length: number
  readonly canOpen: boolean
  readonly canClose: boolean
}

interface Delimiter extends DelimiterRun {
  /** Where its marks are among the pieces: one piece for each. */
  readonly place: number
  /** Those without a partner: it closes with its first ones, and opens with its last ones. */
  first: number
  last: number
  /** Where in the source begins what it may still change. */
  from: number
  hasNoOpener: boolean
}

/** The runs that may still open or close something. */
export interface Delimiters {
  readonly count: number
  /** Where in the source begins what may still change, from a place on; infinite if nothing does. */
  firstOpen(from: number): number
  add(run: DelimiterRun, start: number): void
  /**
   * Finds partners for those that close, from a run on.
   * @param isOutermost whether those without a partner have none further out either
   */
  match(bottom: number, isOutermost: boolean): void
  /** Those from a run on are text. */
  drop(bottom: number): void
}

/** Pairs the marks of emphasis as CommonMark does (0.31.2, section 6.2, and "process emphasis"). */
export function createDelimiters(pieces: Piece[]): Delimiters {
  const runs: Delimiter[] = []
  const isLeft = ({ first, last }: Delimiter) => first < last

  const pair = (opener: number, closer: number) => {
    const opening = runs[opener]!
    const closing = runs[closer]!
    const isDouble = opening.last - opening.first >= 2 && closing.last - closing.first >= 2
    const used = closing.character === '~' ? closing.length : isDouble ? 2 : 1
    const style = closing.character === '~' ? strikethrough : isDouble ? strong : emphasis
    const begin = opening.place + opening.last - used
    const end = closing.place + closing.first + used
    for (let place = begin; place < end; place++) {
      const piece = pieces[place]!
      if (place < begin + used || place >= end - used) piece.mark = 'style'
      piece.style |= style
    }
    opening.last -= used
    closing.first += used
    closing.from = Math.min(closing.from, opening.from)
    runs.splice(opener + 1, closer - opener - 1)
    if (!isLeft(closing)) runs.splice(opener + 1, 1)
    if (!isLeft(opening)) runs.splice(opener, 1)
    return opener
  }
  return {
    get count() {
      return runs.length
    },
    firstOpen: (from) =>
      Math.min(...runs.filter((run) => run.canOpen && run.from >= from).map((run) => run.from)),
    add(run, start) {
      if (run.canOpen || run.canClose) {
        runs.push({
          ...run,
          place: pieces.length,
          first: 0,
          last: run.length,
          from: start,
          hasNoOpener: false,
        })
      }
      for (let index = 0; index < run.length; index++) {
        pieces.push({
          text: run.character,
          style: 0,
          link: undefined,
          mark: undefined,
          start: start + index,
        })
      }
    },
    match(bottom, isOutermost) {
      for (let closer = bottom; closer < runs.length;) {
        const run = runs[closer]!
        let opener = run.canClose && !run.hasNoOpener ? closer - 1 : -1
        while (opener >= bottom && !isPair(runs[opener]!, run)) opener--
        if (opener >= bottom) closer = pair(opener, closer)
        else if (isOutermost && !run.canOpen) runs.splice(closer, 1)
        else {
          run.hasNoOpener ||= isOutermost
          closer++
        }
      }
    },
    drop(bottom) {
      runs.length = bottom
    },
  }
}

function isPair(opening: Delimiter, closing: Delimiter): boolean {
  if (!opening.canOpen || opening.character !== closing.character) return false
  if (closing.character === '~') return opening.length === closing.length
  if (!opening.canClose && !closing.canOpen) return true
  return (opening.length + closing.length) % 3 !== 0 || (opening.length % 3 === 0 && closing.length % 3 === 0)
}
