import type { Random } from '../seeded-random.ts'
import { pick } from '../seeded-random.ts'

const openings = [
  'Here is a stand-in answer, written on your own machine instead of by a model.',
  'No model has read it: the sandbox put this answer together by itself.',
  'These words come from the local sandbox, so they cost nothing and went nowhere.',
]

const sentences = [
  'A small lamp on the desk is enough to read by.',
  'Rain moved over the hills, and the valley grew quiet.',
  'The ferry leaves at seven, with room for bicycles on the lower deck.',
  'Someone left a bowl of apricots by the open window.',
  'Every path through the garden ends at the same stone bench.',
  'The map is old, yet the rivers still run where it says.',
  'Two crows discuss the morning from the roof of the station.',
  'Good tools wait in a row and ask for no attention.',
  'The kettle hums in the kitchen of the café next door.',
  'A letter arrived without a stamp and was delivered all the same.',
  'Snow on the platform squeaks under the boots of the first commuter.',
  'The choir practises on Thursdays, and the whole street knows the alto part.',
]

const closings = [
  'Point the same command at a real gateway for a real answer.',
  'A real gateway would have something of its own to say here.',
  'Ask again with the same seed, and the same words will come back.',
]

/** A text of fewer words is one line. */
const leastWithParagraphs = 100
const sentencesInParagraph = 6

/**
 * A pleasant answer that is plainly the sandbox's own: marked `[sandbox]`, quoting the start of the prompt.
 * @param words how many words it should have at least
 */
export function writeText(prompt: string, random: Random, words: number): string {
  const quote = quoteOf(prompt)
  const parts = [
    quote === ''
      ? '[sandbox] You sent no words.'
      : `[sandbox] You asked: “${quote}”${/[.!?…]$/.test(quote) ? '' : '.'}`,
    pick(random, openings),
  ]
  let count = wordsIn(parts.join(' '))
  let at = Math.floor(random() * sentences.length)
  while (count < words) {
    const sentence = sentences[at++ % sentences.length]!
    parts.push(sentence)
    count += wordsIn(sentence)
  }
  const all = [...parts, pick(random, closings)]
  return words < leastWithParagraphs ? all.join(' ') : paragraphsOf(all).join('\n\n')
}

function paragraphsOf(all: readonly string[]): string[] {
  const count = Math.ceil(all.length / sentencesInParagraph)
  return Array.from({ length: count }, (_, index) =>
    all.slice(index * sentencesInParagraph, (index + 1) * sentencesInParagraph).join(' '),
  )
}

/** How many words a prompt asks for: `sandbox:short`, `sandbox:500-words`; else a few sentences. */
export function wordsAsked(prompt: string): number {
  const asked = /\bsandbox:(\d{1,6})-words\b/.exec(prompt)?.[1]
  if (asked !== undefined) return Math.min(Number(asked), 100_000)
  return /\bsandbox:short\b/.test(prompt) ? 1 : 45
}

/** The first words of a prompt on one line, without characters that a terminal would obey. */
function quoteOf(prompt: string): string {
  const line = prompt
    .slice(0, 400)
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
  const letters = [...line]
  return letters.length > 60 ? `${letters.slice(0, 59).join('').trimEnd()}…` : line
}

function wordsIn(text: string): number {
  return text.split(' ').length
}
