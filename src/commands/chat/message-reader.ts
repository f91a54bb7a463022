import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { PassThrough } from 'node:stream'
import { sanitise } from '../../output/gate.ts'

interface ReaderOptions {
  /** Whether the terminal obeys control sequences; a dumb one cannot tell a paste from keys. */
  readonly marksPastes: boolean
  readonly input: NodeJS.ReadStream
  readonly output: NodeJS.WritableStream
  /** What stands before the first line of a message, and before the others of a block. */
  readonly prompts: readonly [first: string, next: string]
  /** Ctrl-C where nothing is typed: at an empty prompt, or while no message is read. */
  onInterrupt(): void
}

/** xterm's mode 2004: the terminal puts marks around what is pasted. */
const bracketed = { on: '\u001b[?2004h', off: '\u001b[?2004l' }
const pasteBegins = '\u001b[200~'
const wholePaste = /^\u001b\[200~([^]*?)\u001b\[201~/
/** A key that ends a line, or keys up to the next of those or to the next escape sequence. */
const nextKeys = /^(?:[\r\n]|\u001b?[^\r\n\u001b]*)/
const interruptKey = '\u0003'
/** Stands in a line for an end of line, so that a paste is one line that can be edited and recalled. */
const lineEnd = '↵'
const fence = '"""'

const toLine = (text: string) => sanitise(text.replaceAll(/\r\n|\r|\n/g, lineEnd))

/** Messages of a terminal in raw mode, each a line, a paste, or a block between `"""` and `"""`. */
export function openMessageReader(options: ReaderOptions) {
  const { input, output, prompts, onInterrupt } = options
  const keys = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (mode: boolean) => void input.setRawMode?.(mode),
  })
  const lines = createInterface({ input: keys, output, terminal: true })
  /** Aborted when nobody waits for the line any more. */
  let question = new AbortController()
  let isAsking = false
  let isInBlock = false
  let hasLeft = false
  /** What was typed and is not used yet: it belongs to the next line. */
  let held = ''

  const endQuestion = () => {
    isAsking = false
    question.abort()
  }
  const leave = () => {
    hasLeft = true
    endQuestion()
  }
  const feed = () => {
    while (isAsking && held !== '') {
      const [mark, pasted] = wholePaste.exec(held) ?? []
      // The rest of the paste, or of its mark, is yet to come. Escape alone is a key.
      const isCut = held.startsWith(pasteBegins) || (held.length > 1 && pasteBegins.startsWith(held))
      if (mark === undefined && isCut) return
      const piece = mark ?? nextKeys.exec(held)![0]
      held = held.slice(piece.length)
      if (pasted !== undefined) lines.write(toLine(pasted))
      // At once, unlike a write: a paste must not overtake it.
      else keys.emit('data', Buffer.from(piece))
    }
  }
  const decoder = new TextDecoder()
  const onData = (chunk: Buffer | string) => {
    held += decoder.decode(typeof chunk === 'string' ? Buffer.from(chunk) : chunk, { stream: true })
    if (!isAsking && held.includes(interruptKey)) {
      held = ''
      onInterrupt()
    }
    feed()
  }
  const ask = async (prompt: string) => {
    question = new AbortController()
    const line = once(lines, 'line', { signal: question.signal }) as Promise<[string]>
    lines.setPrompt(prompt)
    lines.prompt()
    isAsking = true
    feed()
    return (await line)[0]
  }
  const readMessage = async () => {
    isInBlock = false
    const first = await ask(prompts[0])
    // A paste is a message as it is.
    if (!first.trimStart().startsWith(fence) || first.includes(lineEnd)) return first
    isInBlock = true
    let block = first.trimStart().slice(fence.length)
    while (!block.trimEnd().endsWith(fence)) block += lineEnd + (await ask(prompts[1]))
    return block.trimEnd().slice(0, -fence.length).replaceAll(/^↵|↵$/g, '')
  }

  lines.on('line', () => void (isAsking = false))
  lines.on('SIGINT', () => {
    const isEmpty = lines.line === '' && !isInBlock
    lines.write(null, { ctrl: true, name: 'e' })
    lines.write(null, { ctrl: true, name: 'u' })
    if (isEmpty) output.write('\n')
    endQuestion()
    if (isEmpty) onInterrupt()
  })
  lines.on('close', leave)
  // Back from the background (Ctrl-Z, fg): the shell has set the terminal for itself.
  lines.on('SIGCONT', () => {
    queueMicrotask(() => {
      if (options.marksPastes) output.write(bracketed.on)
      lines.prompt(true)
    })
  })
  input.on('data', onData)
  input.on('end', leave)
  input.resume()
  if (options.marksPastes) output.write(bracketed.on)

  return {
    /** Also one that was typed meanwhile; undefined when the user leaves, or the terminal is gone. */
    async read(): Promise<string | undefined> {
      while (!hasLeft) {
        try {
          return (await readMessage()).replaceAll(lineEnd, '\n')
        } catch (error) {
          if (!question.signal.aborted) throw error
        }
      }
      return undefined
    },
    leave,
    close() {
      input.off('data', onData)
      input.off('end', leave)
      if (options.marksPastes) output.write(bracketed.off)
      lines.close()
      input.pause()
    },
  }
}
