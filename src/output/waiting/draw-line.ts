import type { Styles } from '../styles.ts'

/** What a line of progress says. All of it is plain ASCII, so that its length is its width. */
export interface LineParts {
  /** 0 to 100; null when it is not known: then the bar only shows that something moves. */
  readonly percent: number | null
  readonly words: string
  /** What is left out first where there is little room comes last. */
  readonly details: readonly string[]
  /** May be shortened; empty where none is to be shown. */
  readonly id: string
}

const gap = '  '
const shortestBar = 6
const longestBar = 30
const shortestId = 12
const longestId = 28
const moving = 3

/**
 * One line of at most `width` characters, with as much on it as there is room for.
 * @param step where the moving part of a bar is: one more at every step
 */
export function drawLine(parts: LineParts, step: number, width: number, styles: Styles): string {
  const { percent, words, details, id } = parts
  const head = percent === null ? words : `${String(percent).padStart(3)}%`
  let room = width - head.length
  const take = (length: number) => {
    const fits = room >= length + gap.length
    if (fits) room -= length + gap.length
    return fits
  }
  const hasBar = take(shortestBar)
  const left = details.findIndex((detail) => !take(detail.length))
  const shown = left === -1 ? details : details.slice(0, left)
  // How much is done says already that something is being done.
  const hasWords = percent !== null && take(words.length)
  const idLength = Math.min(id.length, longestId, Math.max(shortestId, room - gap.length))
  const isWhole = left === -1 && (hasWords || percent === null)
  const hasId = id !== '' && isWhole && take(idLength)
  const barLength = Math.min(longestBar, shortestBar + Math.max(0, room))
  return [
    ...(hasBar ? [bar(percent, barLength, step, styles)] : []),
    head.slice(0, Math.max(0, width)),
    ...(hasWords ? [words] : []),
    ...shown,
    ...(hasId ? [styles.dim(shortened(id, idLength))] : []),
  ].join(gap)
}

function bar(percent: number | null, length: number, step: number, styles: Styles): string {
  const full = percent === null ? moving : Math.floor((percent * length) / 100)
  // Back and forth, so that it is never out of sight.
  const turn = length - moving
  const start = percent === null ? turn - Math.abs(turn - (step % (2 * turn))) : 0
  const rest = length - start - full
  return `${empty(start, styles)}${styles.accent('█'.repeat(full))}${empty(rest, styles)}`
}

function empty(length: number, styles: Styles): string {
  return length === 0 ? '' : styles.dim('░'.repeat(length))
}

/** The beginning and the end of an id: names of operations differ only at their end. */
function shortened(id: string, length: number): string {
  if (id.length <= length) return id
  const end = Math.ceil((length - 1) / 2)
  return `${id.slice(0, length - 1 - end)}…${id.slice(-end)}`
}
