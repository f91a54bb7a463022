import { UsageError } from '../../errors.ts'
import { throwProblems } from '../../problems.ts'

/** A place in a text. Lines and columns count from 1, columns in characters. */
export interface TextPosition {
  readonly line: number
  readonly column: number
}

export interface Position extends TextPosition {
  readonly file: string
}

interface Mistake {
  readonly at: Position
  readonly message: string
  readonly instances: Set<string>
}

const maxPerFile = 10

/** Collects what is wrong with a manifest and what it names, to report it all at once, by place. */
export class Mistakes {
  readonly warnings = new Set<string>()
  /** What looks like a secret in a text, in words: it is not shown, and not sent. */
  readonly secretIn: (text: string) => string | undefined
  readonly #file: string
  readonly #locate: (offset: number) => TextPosition
  readonly #found = new Map<string, Mistake>()
  readonly #secrets = new Map<string, string>()

  constructor(file: string, text: string, secretIn: (text: string) => string | undefined) {
    this.#file = file
    this.secretIn = secretIn
    this.#locate = createLocator(text)
  }

  positionOf(offset: number): Position {
    return { file: this.#file, ...this.#locate(offset) }
  }

  /**
   * @param at an offset in the manifest in UTF-16 units, or a place in another file
   * @param message a sentence
   * @param instance whose mistake it is: what differs from that of another row in the same place only in what is quoted, and
   * in numbers, is reported once
   */
  report(at: number | Position, message: string, instance?: string): undefined {
    const position = typeof at === 'number' ? this.positionOf(at) : at
    const place = placeKey(position)
    const alike = `${place}\0${message.replaceAll(quotedOrNumber, '…')}`
    const first = this.#found.get(alike)
    // Two that one instance has are two.
    const isOther = first !== undefined && first.message !== message && first.instances.has(instance!)
    const key = instance === undefined || isOther ? `${place}\0${message}` : alike
    const mistake = this.#found.get(key) ?? { at: position, message, instances: new Set<string>() }
    if (instance !== undefined) mistake.instances.add(instance)
    this.#found.set(key, mistake)
  }

  /** Reports a secret in a text of the manifest, and what is not Unicode. Nothing else is shown of a place with a secret. */
  checkText(at: number, text: string): void {
    const secret = this.secretIn(text)
    if (secret !== undefined) {
      const message = `A manifest must not hold a secret, and here is ${secret}.`
      this.#secrets.set(placeKey(this.positionOf(at)), message)
      this.report(at, message)
    }
    if (!text.isWellFormed()) this.report(at, 'The text contains half of a surrogate pair.')
  }

  /** @throws UsageError `manifest_invalid`, a line `FILE:LINE:COLUMN: message` each */
  throwIfAny(): void {
    const shown = [...this.#found.values()]
      .filter(({ at, message }) => (this.#secrets.get(placeKey(at)) ?? message) === message)
      .toSorted((a, b) => this.#compare(a.at, b.at))
    const files = [...Map.groupBy(shown, ({ at }) => at.file)]
    const lines = files.flatMap(([file, mistakes]) => {
      const more = mistakes.length - maxPerFile
      const first = mistakes.slice(0, maxPerFile).map((mistake) => this.#lineOf(mistake))
      return more > 0 ? [...first, `${file}: … and ${more} more.`] : first
    })
    throwProblems(lines.map((line) => new UsageError(line, { code: 'manifest_invalid' })))
  }

  /** Reports what nothing more can be read after. @throws as `throwIfAny` does */
  fail(at: number, message: string): never {
    this.report(at, message)
    this.throwIfAny()
    throw new TypeError(message)
  }

  #lineOf({ at, message, instances }: Mistake): string {
    const [one, ...others] = instances
    const more = others.length === 0 ? '' : ` and ${others.length} more`
    // Where a job has one instance, the place of a mistake says enough.
    const isNamed = one !== undefined && (others.length > 0 || one.includes('['))
    const text = isNamed ? `${message} (${one}${more})` : message
    const safe = this.secretIn(text) === undefined ? text.replaceAll('\n', '\\n') : hiddenMessage
    return `${at.file}:${at.line}:${at.column}: ${safe}`
  }

  #compare(a: Position, b: Position): number {
    if (a.file === b.file) return a.line - b.line || a.column - b.column
    if (a.file === this.#file) return -1
    return b.file === this.#file || a.file > b.file ? 1 : -1
  }
}

const quotedOrNumber = /"(?:[^"\\]|\\.)*"|\d+/g

const hiddenMessage = 'There is a mistake in a value that is not shown.'

const placeKey = ({ file, line, column }: Position) => `${file}\0${line}\0${column}`

export function createLocator(text: string): (offset: number) => TextPosition {
  let starts: number[] | undefined
  return (offset) => {
    starts ??= [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)]
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (starts[middle]! <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: Array.from(text.slice(starts[low], offset)).length + 1 }
  }
}
