/** A message may be cut in the middle of a secret: so much of its beginning is recognised. */
const minPrefix = 12
/** So much of any part of a secret is recognised, such as its end, which services show. */
export const fragmentLength = 20
/** Characters that are looked up together. */
const gramLength = 4
/** Shorter ends of a text are not held back, unless a secret is so short that the rest would not be found. */
const minTail = gramLength

/** Finds a set of forms in texts, in time linear in the text, whatever the text or the forms contain. */
export interface Matcher {
  /**
   * Where the text contains a whole form, at least its first 12 characters, or any 20 in a row. ASCII letters
   * match in either case.
   * @returns alternating starts and ends, ascending, without overlap
   */
  find(text: string): readonly number[]
  /** How many characters at the end may be the beginning of a match, if the text goes on; at most 19. */
  openTail(text: string): number
}

/**
 * Samples a few characters of the text, at intervals shorter than any match. Nearly always these are in no form, and
 * nothing between them needs to be looked at. Otherwise every position where a match could include them is tried.
 * @param forms none of them empty
 */
export function createMatcher(forms: readonly string[]): Matcher {
  if (forms.length === 0) return { find: () => [], openTail: () => 0 }
  const stride = Math.min(minPrefix, ...forms.map(({ length }) => length)) - gramLength + 1
  if (stride < 1) throw new RangeError('A form is too short to be recognised.')
  const hasShort = forms.some(({ length }) => length < fragmentLength + minTail)
  const isInForms = createGramFilter(forms)
  const beginnings = createBeginningTree(forms)
  let fragments: FragmentTable | undefined

  return {
    find(text) {
      const spans: number[] = []
      let lastEnd = -1
      const add = (start: number, end: number) => {
        if (end <= lastEnd) return
        if (start <= lastEnd) spans[spans.length - 1] = end
        else spans.push(start, end)
        lastEnd = end
      }
      for (let first = 0; first + stride - 1 + gramLength <= text.length;) {
        if (!isInForms(text, first + stride - 1)) {
          first += stride
          continue
        }
        fragments ??= createFragmentTable(forms)
        const fragment = fragments.find(text, first, stride)
        const last = fragment?.start ?? first + stride - 1
        for (let start = first; start <= last; start++) {
          const length = beginnings.lengthAt(text, start)
          if (length > 0) add(start, start + length)
        }
        if (fragment !== undefined) add(fragment.start, fragment.end)
        first = fragment === undefined ? first + stride : fragment.end - fragmentLength + 1
      }
      return spans
    },
    openTail(text) {
      let tail = gramLength - 1
      while (tail < fragmentLength - 1 && tail < text.length && isInForms(text, text.length - tail - 1))
        tail++
      if (tail >= minTail) return tail
      for (tail = hasShort ? Math.min(tail, text.length) : 0; tail > 0; tail--) {
        if (beginnings.isOpen(text, text.length - tail)) return tail
      }
      return 0
    },
  }
}

/** ASCII letters without their case. */
function fold(code: number): number {
  return code >= 65 && code <= 90 ? code | 32 : code
}

/** Whether the four characters at a position are in the forms: a Bloom filter, with false positives only. */
function createGramFilter(forms: readonly string[]): (text: string, at: number) => boolean {
  const bits = Math.min(28, Math.max(12, 32 - Math.clz32(totalLength(forms) * 32)))
  const shift = 32 - bits
  const set = new Uint32Array(2 ** (bits - 5))
  const hash = (text: string, at: number) => {
    const low = (text.charCodeAt(at) | 32) ^ ((text.charCodeAt(at + 1) | 32) << 7)
    const high = ((text.charCodeAt(at + 2) | 32) << 14) ^ ((text.charCodeAt(at + 3) | 32) << 21)
    return Math.imul(low ^ high, 0x9e37_79b1) >>> shift
  }
  for (const form of forms) {
    for (let at = 0; at + gramLength <= form.length; at++) {
      const bit = hash(form, at)
      set[bit >>> 5]! |= 1 << (bit & 31)
    }
  }
  return (text, at) => {
    const bit = hash(text, at)
    return (set[bit >>> 5]! & (1 << (bit & 31))) !== 0
  }
}

/** Children of a node of the tree: one for each ASCII character, and one for all others. */
const childCount = 128

/** A prefix tree of all forms, only as deep as what is not also found as a fragment. */
function createBeginningTree(forms: readonly string[]) {
  const depth = fragmentLength
  const next = new Uint16Array(
    childCount * (1 + forms.reduce((sum, { length }) => sum + Math.min(length, depth), 0)),
  )
  const ends = new Uint8Array(next.length / childCount)
  const childOf = (code: number) => (code < childCount ? fold(code) : 0)
  let nodes = 1
  for (const form of forms) {
    let node = 0
    for (let at = 0; at < form.length && at < depth; at++) {
      const edge = node * childCount + childOf(form.charCodeAt(at))
      node = next[edge] ||= nodes++
      if (at + 1 >= minPrefix) ends[node] = 1
    }
    ends[node] = 1
  }
  return {
    /** The length of the prefix of a form at a position; 0 when it is too short. */
    lengthAt(text: string, start: number): number {
      let node = 0
      let length = 0
      for (let at = start; at < text.length; at++) {
        node = next[node * childCount + childOf(text.charCodeAt(at))]!
        if (node === 0) break
        if (ends[node] === 1) length = at - start + 1
      }
      return length
    },
    /** Whether the text from a position on is the beginning of a form. */
    isOpen(text: string, start: number): boolean {
      let node = 0
      for (let at = start; at < text.length; at++) {
        node = next[node * childCount + childOf(text.charCodeAt(at))]!
        if (node === 0) return false
      }
      return true
    },
  }
}

interface FragmentTable {
  /** The first of `count` positions from `start` where a fragment begins, and how far the text matches its form. */
  find(text: string, start: number, count: number): { start: number; end: number } | undefined
}

const base = 0x0100_0193
/** What the first character of a fragment adds to its hash. */
const leading = Array.from({ length: fragmentLength - 1 }).reduce<number>(
  (power) => Math.imul(power, base),
  1,
)

/** Separates forms, and matches nothing, not even itself. */
const separator = '\uffff'

/** Every fragment of the forms, in a hash table with a rolling hash. */
function createFragmentTable(forms: readonly string[]): FragmentTable {
  const all = forms.join(separator)
  const size = 2 ** (33 - Math.clz32(all.length))
  /** The position of a fragment in `all`, plus one; 0 is a free slot. */
  const table = new Int32Array(size)

  /** The slot of a fragment in the table, or the free one that it would take. */
  const slotOf = (hash: number, text: string, start: number): number => {
    let slot = (Math.imul(hash ^ (hash >>> 15), 0x2c1b_3c6d) >>> 8) & (size - 1)
    for (let entry = table[slot]!; entry !== 0; entry = table[slot]!) {
      if (commonLength(all, entry - 1, text, start, fragmentLength) === fragmentLength) break
      slot = (slot + 1) & (size - 1)
    }
    return slot
  }
  /** Calls back with the slot in the table for each fragment of a text, until `take` returns true. */
  const visit = (
    text: string,
    start: number,
    end: number,
    take: (slot: number, first: number) => boolean | void,
  ): void => {
    let hash = 0
    for (let at = start; at < end; at++) {
      const first = at - fragmentLength + 1
      if (first > start) hash = (hash - Math.imul(text.charCodeAt(first - 1) | 32, leading)) | 0
      hash = (Math.imul(hash, base) + (text.charCodeAt(at) | 32)) | 0
      if (first >= start && take(slotOf(hash, text, first), first)) return
    }
  }
  let used = 0
  for (const form of forms) {
    visit(form, 0, form.length, (slot, first) => void (table[slot] ||= used + first + 1))
    used += form.length + separator.length
  }
  return {
    find(text, start, count) {
      let found: { start: number; end: number } | undefined
      visit(text, start, Math.min(start + count + fragmentLength - 1, text.length), (slot, first) => {
        const entry = table[slot]!
        if (entry !== 0)
          found = { start: first, end: first + commonLength(all, entry - 1, text, first, Infinity) }
        return entry !== 0
      })
      return found
    },
  }
}

/** How far two texts match, ignoring the case of letters, from a position in each. */
function commonLength(one: string, oneStart: number, other: string, otherStart: number, max: number): number {
  const limit = Math.min(max, one.length - oneStart, other.length - otherStart)
  let length = 0
  while (length < limit && matches(one.charCodeAt(oneStart + length), other.charCodeAt(otherStart + length)))
    length++
  return length
}

function matches(one: number, other: number): boolean {
  return fold(one) === fold(other) && one !== 0xffff
}

function totalLength(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0)
}
