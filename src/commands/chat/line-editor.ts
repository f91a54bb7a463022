import { createInterface, type Interface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { sanitise } from '../../output/gate.ts'

export interface KeySource {
  on(event: 'data', listener: (chunk: Buffer | string) => void): unknown
  on(event: 'end', listener: () => void): unknown
  off(event: 'data', listener: (chunk: Buffer | string) => void): unknown
  off(event: 'end', listener: () => void): unknown
  resume(): unknown
  pause(): unknown
  setRawMode?(mode: boolean): unknown
}

export interface EditorOptions {
  /** Whether the terminal obeys control sequences; a dumb one cannot tell a paste from keys. */
  readonly marksPastes: boolean
  readonly input: KeySource
  readonly output: NodeJS.WritableStream
  /** What stands before the first line of a message, and before the others. */
  readonly prompts: readonly [first: string, next: string]
  /** Earlier messages, the newest first. */
  readonly history: readonly string[]
  /** What the end of a line could go on as, and the part of the line that it replaces. */
  complete(line: string): Promise<readonly [found: string[], replaced: string]>
  /** Ctrl-C where there is nothing to throw away. @returns whether the user leaves */
  onInterrupt(): boolean
}

/** Messages that a person types: of one line, or of several. */
export interface LineEditor {
  /** The messages so far, the newest first. */
  readonly added: readonly string[]
  /** The next message; undefined when the user leaves, or the terminal is gone. */
  read(): Promise<string | undefined>
  /**
   * Keeps what is typed for the next message, and passes on Ctrl-C, while something else is shown.
   * @returns ends that
   */
  hold(onStop: () => void): () => void
  /** Ends the reading: nobody types any more. */
  leave(): void
  /** Gives the terminal back. */
  close(): void
}

const interruptKey = '\u0003'
/** Around what is pasted (xterm's mode 2004). */
const pasteBegins = '\u001b[200~'
const pasteEnds = '\u001b[201~'
const bracketed = { on: '\u001b[?2004h', off: '\u001b[?2004l' }
/** Ctrl-J, Alt-Enter, and Shift-Enter and the like where the terminal tells them: a new line of the same message. */
const newLineKeys = /^(?:\n|\u001b\r|\u001b\n|\u001b\[13;[2-8]u|\u001b\[27;[2-8];13~)/
/** Stands in a line for the end of a line: an earlier message is edited in one. */
const lineEnd = '↵'
/** How many earlier messages are kept. */
const maxHistory = 1_000

/** Opens the terminal for messages: in raw mode, until it is closed. */
export function openLineEditor(options: EditorOptions): LineEditor {
  const { input, output, prompts, complete, onInterrupt } = options
  const added: string[] = []
  const keys = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (mode: boolean) => void input.setRawMode?.(mode),
  })
  const editor: Interface = createInterface({
    input: keys,
    output,
    terminal: true,
    // What is recalled here are messages, not their lines.
    historySize: maxHistory,
    completer: (line: string, reply: (error: null, result: [string[], string]) => void) => {
      complete(line).then(
        // Names of files and models come from elsewhere: what would act on the terminal cannot be typed, either.
        ([found, replaced]) => reply(null, [found.filter(isPlain), replaced]),
        () => reply(null, [[], line]),
      )
    },
  })
  const lines = createLines()
  let taken: ((message: string | undefined) => void) | undefined
  let onStop: (() => void) | undefined
  let isClosed = false
  /** While a completion is looked for, what is typed has to wait. */
  let isPaused = false
  let isNewLine = false
  let held = ''

  const recall = (list: string[]) => {
    const messages = [...added, ...options.history].slice(0, maxHistory)
    list.splice(0, list.length, ...messages.map((message) => sanitise(message.replaceAll('\n', lineEnd))))
  }
  const prompt = () => {
    editor.setPrompt(prompts[lines.isOpen ? 1 : 0])
    editor.prompt()
  }
  const finish = (message: string | undefined) => {
    const take = taken
    taken = undefined
    if (take === undefined) return
    if (message !== undefined && message.trim() !== '' && added[0] !== message) added.unshift(message)
    take(message)
  }
  const leave = () => {
    isClosed = true
    finish(undefined)
  }
  /** A new line of the same message, at the cursor. */
  const breakLine = () => {
    const rest = editor.line.slice(editor.cursor)
    if (rest !== '') editor.write(null, { ctrl: true, name: 'k' })
    isNewLine = true
    editor.write('\n')
    if (rest === '') return
    editor.write(rest)
    editor.write(null, { ctrl: true, name: 'a' })
  }
  const paste = (text: string) => {
    const [first = '', ...others] = text.split(/\r\n|\r|\n/).map(sanitise)
    if (first !== '') editor.write(first)
    for (const line of others) {
      breakLine()
      if (line !== '') editor.write(line)
    }
  }

  editor.on('history', recall)
  editor.on('line', (line) => {
    const restored = line.replaceAll(lineEnd, '\n')
    const message = lines.take(restored, isNewLine)
    isNewLine = false
    if (message === undefined) prompt()
    else finish(message)
  })
  editor.on('SIGINT', () => {
    const isEmpty = editor.line === '' && !lines.isOpen
    lines.clear()
    editor.write(null, { ctrl: true, name: 'e' })
    editor.write(null, { ctrl: true, name: 'u' })
    if (isEmpty) output.write('\n')
    if (isEmpty && onInterrupt()) leave()
    else prompt()
  })
  editor.on('close', leave)
  // Back from the background (Ctrl-Z, fg): the editor is paused then, and the shell has set the terminal for itself.
  editor.on('SIGCONT', () => {
    queueMicrotask(() => {
      if (options.marksPastes) output.write(bracketed.on)
      editor.prompt(true)
    })
  })
  editor.on('pause', () => void (isPaused = true))
  editor.on('resume', () => {
    isPaused = false
    queueMicrotask(feedHeld)
  })

  const feed = createKeyReader({
    // At once, unlike a write: what is pasted behind it must not overtake it.
    keys: (text) => void keys.emit('data', Buffer.from(text)),
    newLine: breakLine,
    paste,
  })
  const onData = (chunk: Buffer | string) => {
    const text = decoder.decode(typeof chunk === 'string' ? Buffer.from(chunk) : chunk, { stream: true })
    if (isReading()) return feed(text, isReading, keepRest)
    if (taken === undefined && text.includes(interruptKey)) {
      held = ''
      onStop?.()
    } else held += text
  }
  const isReading = () => taken !== undefined && !isPaused
  const feedHeld = () => {
    const early = held
    held = ''
    if (early !== '') onData(early)
  }
  /** What was typed behind the end of a message belongs to the next one. */
  const keepRest = (rest: string) => void (held += rest)
  const decoder = new TextDecoder()
  input.on('data', onData)
  input.on('end', leave)
  input.resume()
  if (options.marksPastes) output.write(bracketed.on)

  return {
    added,
    read() {
      if (isClosed) return Promise.resolve(undefined)
      const { promise, resolve } = Promise.withResolvers<string | undefined>()
      taken = resolve
      recall((editor as unknown as { history: string[] }).history)
      prompt()
      feedHeld()
      return promise
    },
    hold(stop) {
      onStop = stop
      return () => void (onStop = undefined)
    },
    leave,
    close() {
      input.off('data', onData)
      input.off('end', leave)
      if (options.marksPastes) output.write(bracketed.off)
      editor.close()
      input.pause()
    },
  }
}

const isPlain = (text: string) => !/[\t\n]/.test(text) && sanitise(text) === text

interface KeyActions {
  keys(text: string): void
  newLine(): void
  paste(text: string): void
}

/** Tells what is pasted, and the keys for a new line, from other keys. */
function createKeyReader(actions: KeyActions) {
  let pasted: string | undefined
  /** The beginning of the mark before a paste, which may come in two pieces. */
  let begun = ''
  return (text: string, isOpen: () => boolean, keep: (rest: string) => void): void => {
    const whole = begun + text
    begun = ''
    for (let rest = whole; rest !== '';) {
      if (!isOpen()) return keep(rest)
      if (pasted !== undefined) {
        const all: string = pasted + rest
        const end = all.indexOf(pasteEnds)
        pasted = end === -1 ? all : undefined
        if (end === -1) return
        actions.paste(all.slice(0, end))
        rest = all.slice(end + pasteEnds.length)
        continue
      }
      if (rest.startsWith(pasteBegins)) {
        pasted = ''
        rest = rest.slice(pasteBegins.length)
        continue
      }
      // Escape alone is a key.
      if (rest.length > 1 && pasteBegins.startsWith(rest)) return void (begun = rest)
      const [newLine] = newLineKeys.exec(rest) ?? []
      if (newLine !== undefined) {
        actions.newLine()
        rest = rest.slice(newLine.length)
        continue
      }
      const [next = rest] = /^(?:\r|\t|[^\r\n\t\u001b]+|\u001b[^\r\n\t\u001b]*)/.exec(rest) ?? []
      actions.keys(next)
      rest = rest.slice(next.length)
    }
  }
}

const fence = '"""'

/** The lines of a message, until it is whole. */
function createLines() {
  let before: string[] = []
  let isFenced = false
  return {
    get isOpen() {
      return before.length > 0 || isFenced
    },
    clear() {
      before = []
      isFenced = false
    },
    /**
     * @param goesOn whether the next line belongs to the same message in any case
     * @returns the whole message; undefined when more lines follow
     */
    take(line: string, goesOn: boolean): string | undefined {
      if (!isFenced && before.length === 0 && !goesOn && line.trimStart().startsWith(fence)) {
        const rest = line.trimStart().slice(fence.length)
        if (rest.trimEnd().endsWith(fence)) return rest.trimEnd().slice(0, -fence.length)
        isFenced = true
        if (rest !== '') before.push(rest)
        return undefined
      }
      if (isFenced) {
        const ends = !goesOn && line.trimEnd().endsWith(fence)
        const rest = ends ? line.trimEnd().slice(0, -fence.length) : line
        if (!ends || rest !== '') before.push(rest)
        return ends ? this.whole() : undefined
      }
      const isEscaped = /(?:^|[^\\])(?:\\\\)*\\$/.test(line)
      before.push(isEscaped && !goesOn ? line.slice(0, -1) : line)
      return goesOn || isEscaped ? undefined : this.whole()
    },
    whole(): string {
      const message = before.join('\n')
      this.clear()
      return message
    },
  }
}
