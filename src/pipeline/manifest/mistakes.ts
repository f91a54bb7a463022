import { UsageError } from '../../errors.ts'
import { throwProblems } from '../../problems.ts'

/** A place in a file, for messages. */
export interface Position extends TextPosition {
  /** As the user knows it: relative to the working directory. */
  readonly file: string
}

/** Collects what is wrong with a manifest and what it names, to tell it all at once, by place. */
export interface Mistakes {
  /**
   * @param message a sentence
   * @param instance where the mistake is that of one row: that of other rows in the same place is told once
   */
  add(at: Position, message: string, instance?: string): void
  /** Adds a mistake about a secret: no other one about the same place is shown, which could show the secret. */
  addSecret(at: Position, message: string): void
  /** @throws UsageError `manifest_invalid`, a line `FILE:LINE:COLUMN: message` each */
  throwIfAny(): void
  /** @throws what `throwIfAny` does; for when nothing can be read */
  refuse(): never
}

interface Mistake {
  readonly at: Position
  readonly message: string
  readonly instances: Set<string>
}

/** More than anybody reads at once. */
const maxShown = 200

/**
 * @param secretIn says what looks like a secret in a text: a message with one is not shown
 * @param first the manifest's file, whose mistakes come first
 */
export function createMistakes(secretIn: (text: string) => string | undefined, first: string): Mistakes {
  const found = new Map<string, Mistake>()
  const hidden = new Map<string, string>()
  const throwIfAny = () => {
    const isShown = ({ at, message }: Mistake) => (hidden.get(placeKey(at)) ?? message) === message
    const sorted = [...found.values()].filter(isShown).toSorted((a, b) => byPlace(a.at, b.at, first))
    const shown = sorted.slice(0, maxShown).map(({ at, message, instances }) => {
      const [one, ...others] = instances
      const more = others.length === 0 ? '' : ` and ${others.length} more`
      const text = one === undefined ? message : `${message} (${one}${more})`
      const safe = secretIn(text) === undefined ? oneLine(text) : hiddenMessage
      return new UsageError(`${at.file}:${at.line}:${at.column}: ${safe}`, { code: 'manifest_invalid' })
    })
    const left = sorted.length - shown.length
    const rest = left > 0 ? [new UsageError(`… and ${left} more.`, { code: 'manifest_invalid' })] : []
    throwProblems([...shown, ...rest])
  }
  return {
    add(at, message, instance) {
      // Those of other rows have other values in them.
      const kind = instance === undefined ? message : message.replaceAll(/"(?:[^"\\]|\\.)*"|\d+/g, '…')
      const key = `${placeKey(at)}\0${kind}`
      const known = found.get(key) ?? { at, message, instances: new Set<string>() }
      if (instance !== undefined) known.instances.add(instance)
      found.set(key, known)
    },
    addSecret(at, message) {
      hidden.set(placeKey(at), message)
      found.set(`${placeKey(at)}\0${message}`, { at, message, instances: new Set() })
    },
    throwIfAny,
    refuse() {
      throwIfAny()
      throw new UsageError(`${first}:1:1: This is not a manifest.`, { code: 'manifest_invalid' })
    },
  }
}

const hiddenMessage = 'There is a mistake in a value that is not shown.'

/** Names may hold anything; what would end the line, or turn its direction, is shown as its code. */
function oneLine(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const placeKey = ({ file, line, column }: Position) => `${file}\0${line}\0${column}`

function byPlace(a: Position, b: Position, first: string): number {
  if (a.file !== b.file) return a.file === first ? -1 : b.file === first ? 1 : a.file < b.file ? -1 : 1
  return a.line - b.line || a.column - b.column
}

/** A place in a text. Lines and columns count from 1, columns in characters. */
export interface TextPosition {
  readonly line: number
  readonly column: number
}

/** Finds lines and columns of offsets in a text, which are in UTF-16 units. */
export function createLocator(text: string): (offset: number) => TextPosition {
  let starts: number[] | undefined
  return (offset) => {
    starts ??= lineStarts(text)
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (starts[middle]! <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: Array.from(text.slice(starts[low], offset)).length + 1 }
  }
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}
