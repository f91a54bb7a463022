import type { BlockHandler } from './block-handler.ts'
import { createBlockStructure } from './block-structure.ts'

export interface BlockParser {
  /** Takes the text, in pieces of any length. */
  push(text: string): void
  /** The text has ended: so do all blocks. */
  end(): void
}

/** As much of a line as is held back to know what it is; then it is text. */
const maxStart = 1000
const maxRow = 8000
/** Of the marks at the end of a heading. */
const maxEnd = 200
/** Held back behind the first pipe of a line, and before it, if it does not begin with one. */
const maxHead = 200
const maxFirstCell = 40

/** Where the line stands. */
type Mode = 'start' | 'text' | 'raw' | 'head'

/**
 * The block structure of CommonMark and GitHub's tables, told while the text comes: of a line only as much is held
 * back as it takes to know what it is. The states depend on the characters alone, not on how they were cut.
 */
export function createBlockParser(handler: BlockHandler): BlockParser {
  const structure = createBlockStructure(handler, {
    raw: (text) => raw(text),
    inline(text, mayBeHead) {
      before = mayBeHead ? '' : undefined
      inline(text)
    },
  })
  let mode: Mode = 'start'
  /** What is not decided of the line. */
  let held = ''
  /** What a pair of two characters may begin with. */
  let unpaired = ''
  /** The end of what has been told of a line of HTML, and whether the block ends with that line. */
  let tail = ''
  let isOver = false
  let isHeadingBegun = false
  /** Whether the line is held back to its end. */
  let takesLine = false
  /** The part of a paragraph's line that has been told, as long as a table may begin in it. */
  let before: string | undefined

  /** Tells more of a line of code or HTML. */
  const raw = (text: string) => {
    mode = 'raw'
    const { leaf } = structure
    if (leaf?.kind === 'html') {
      handler.html(text)
      isOver ||= leaf.block.end?.test(tail + text) === true
      tail = (tail + text).slice(-20)
    } else handler.code(text)
  }
  /** Tells more of a line of inline text, up to a pipe that may part two cells. */
  const inline = (text: string) => {
    mode = 'text'
    if (structure.leaf?.kind === 'heading') return headingText(text)
    if (before === undefined) return handler.text(text)
    const pipe = firstPipe(before, text)
    const told = pipe === -1 ? text : text.slice(0, pipe)
    if (before.length + told.length > maxFirstCell) before = undefined
    else before += told
    if (pipe === -1 || before === undefined) return handler.text(text)
    handler.text(told)
    held = text.slice(pipe)
    mode = 'head'
    limitHead()
  }
  /** Marks at the end of a heading are no part of it. */
  const headingText = (text: string) => {
    const all = held + text
    const end = all.slice(-maxEnd)
    const [marks = ''] =
      /(?<![ \t])[ \t]+#*[ \t]*$/.exec(end) ?? (isHeadingBegun ? null : /^#*$/.exec(end)) ?? []
    held = marks
    if (marks.length === all.length) return
    isHeadingBegun = true
    handler.text(all.slice(0, all.length - marks.length))
  }
  const limitHead = () => {
    if (held.length <= (before!.trim() === '' ? maxStart : maxHead)) return
    const text = held
    held = ''
    before = undefined
    inline(text)
  }

  const endLine = (ending: string) => {
    const ended = mode
    mode = 'start'
    if (ended === 'text') {
      if (structure.leaf?.kind === 'heading') {
        held = ''
        isHeadingBegun = false
        structure.closeLeaf()
      } else handler.text('\n')
      before = undefined
    } else if (ended === 'head') {
      structure.offerHead({ before: before!, rest: held })
      before = undefined
      held = ''
    } else if (ended === 'raw') {
      if (structure.leaf?.kind !== 'html') return handler.code(ending)
      handler.html(ending)
      if (isOver) structure.closeLeaf()
      tail = ''
      isOver = false
    } else {
      const line = held
      held = ''
      takesLine = false
      const action = structure.decide(line, ending)
      if (typeof action === 'function') action()
      // What began in this line ends with it, too.
      if (mode !== 'start') endLine(ending)
    }
  }
  const addToStart = (character: string) => {
    // A run goes on: nothing new is known.
    const isRun = held.length > 8 && held.endsWith(character)
    held += character
    const isLimit =
      held.length > (structure.leaf?.kind === 'table' || /^\s*\|/.test(held) ? maxRow : maxStart)
    if ((isRun || takesLine) && !isLimit) return
    const action = structure.decide(held, isLimit ? 'limit' : undefined)
    takesLine = action === 'line'
    if (action === undefined || action === 'line') return
    held = ''
    action()
  }

  const take = (text: string) => {
    for (let from = 0; from < text.length;) {
      const end = text.indexOf('\n', from)
      const stop = end === -1 ? text.length : end
      const isPair = end > 0 && text[end - 1] === '\r'
      const lineEnd = isPair ? stop - 1 : stop
      while (mode === 'start' && from < lineEnd) addToStart(text[from++]!)
      if (mode === 'head') {
        held += text.slice(from, lineEnd)
        limitHead()
      } else if (mode === 'text' && from < lineEnd) inline(text.slice(from, lineEnd))
      else if (mode === 'raw' && from < lineEnd) raw(text.slice(from, lineEnd))
      if (end === -1) return
      endLine(isPair ? '\r\n' : '\n')
      from = end + 1
    }
  }

  return {
    push(text) {
      const all = unpaired + text
      unpaired = unpairedEnd(all)
      take(all.slice(0, all.length - unpaired.length))
    },
    end() {
      take(unpaired)
      unpaired = ''
      if (mode !== 'start' || held !== '') endLine('')
      structure.closeAll()
    },
  }
}

/** The last character of a text if the next one may belong to it: half of a surrogate pair, or of a line end. */
export function unpairedEnd(text: string): string {
  return /[\r\ud800-\udbff]$/.exec(text.slice(-1))?.[0] ?? ''
}

/** Where in more of a line the first pipe is that is neither behind a backslash nor in code; -1 if there is none. */
function firstPipe(before: string, text: string): number {
  if (!text.includes('|')) return -1
  const start = /^[ \t]*\|/.exec(text)
  if (before === '' && start !== null) return start[0].length - 1
  const line = before + text
  let inCode = false
  for (const { 0: part, index } of line.matchAll(/\\[^]|`+|\|/g)) {
    if (part.startsWith('`')) inCode = !inCode
    else if (part === '|' && !inCode && index >= before.length) return index - before.length
  }
  return -1
}
