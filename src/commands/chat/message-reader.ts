import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { nearestName } from '../../nearest-name.ts'
import { sanitise } from '../../output/gate.ts'

export const chatCommands = {
  help: { takes: '', about: 'this list' },
  model: { takes: '[ID]', about: 'the model, or another one from now on' },
  system: { takes: '[TEXT]', about: 'the instructions, or others from now on; "-" for none' },
  retry: { takes: '', about: 'ask the last message again' },
  save: { takes: 'FILE', about: 'the conversation (.yaml, .json), or the last answer (any other)' },
  exit: { takes: '', about: 'leave, as Ctrl-D does' },
} as const

export type ChatCommand = keyof typeof chatCommands

export type Message =
  | { readonly kind: 'text'; readonly text: string; readonly attach: readonly string[] }
  | { readonly kind: 'command'; readonly name: ChatCommand; readonly rest: string }
  | { readonly kind: 'unknown'; readonly name: string; readonly near: string | undefined }
  | { readonly kind: 'empty' }

/** `/name` is a command, `//` begins a text with a slash, and `@path` or `@"a path"` attaches a file. `/etc/hosts` is no command. */
export function readMessage(text: string, isFile: (path: string) => boolean): Message {
  const line = text.trim()
  if (line === '') return { kind: 'empty' }
  const [, word, rest = ''] = /^\/([^\s/]*)(?:\s+([^]*))?$/.exec(line) ?? []
  if (word !== undefined) {
    const name = word === 'quit' ? 'exit' : word
    return Object.hasOwn(chatCommands, name)
      ? { kind: 'command', name: name as ChatCommand, rest: rest.trim() }
      : { kind: 'unknown', name, near: nearestName(name, Object.keys(chatCommands)) }
  }
  const plain = line.startsWith('//') ? text.replace('//', '/') : text
  const attach: string[] = []
  let kept = ''
  let at = 0
  for (const { 0: mention, 1: quoted, 2: word = '', index } of plain.matchAll(mentions)) {
    const trimmed = word.replace(/[.,;:!?)]+$/, '')
    const path = quoted ?? (isFile(word) ? word : trimmed)
    if (!looksLikeFile(path) && !isFile(path)) continue
    attach.push(path)
    // The text names the file, without the sign.
    kept += plain.slice(at, index) + path
    at = index + mention.length - (quoted === undefined ? word.length - path.length : 0)
  }
  return { kind: 'text', text: (kept + plain.slice(at)).replaceAll(escapedSign, '@'), attach }
}

/** At the beginning of a word; `\@` is a literal @. */
const mentions = /(?<=^|[\s([{])@(?:"([^"\n]+)"|([^\s"@][^\s]*))/g
const escapedSign = /(?<=^|\s)\\@/g

/** An address, or what is meant for a file, so that a misspelt one is reported, not sent as a word. */
function looksLikeFile(path: string): boolean {
  return /^(?:(?:https?|gs):\/\/|(?:~|\.{1,2})?\/)/i.test(path) || /[\w-]\.[A-Za-z]\w{0,4}$/.test(path)
}

interface ReaderOptions {
  /** Whether the terminal obeys control sequences; a dumb one cannot distinguish a paste from keys. */
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
  /** Takes the line that is asked for; undefined where none is. */
  let answer: ((line: string | undefined) => void) | undefined
  let hasLeft = false
  /** What was typed and is not used yet: it belongs to the next line. */
  let held = ''

  /** Left out: nobody waits for the line any more. */
  const endQuestion = (line?: string) => {
    answer?.(line)
    answer = undefined
  }
  const leave = () => {
    hasLeft = true
    endQuestion()
  }
  const feed = () => {
    while (answer !== undefined && held !== '') {
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
    if (answer === undefined && held.includes(interruptKey)) {
      held = ''
      onInterrupt()
    }
    feed()
  }
  const ask = (prompt: string) =>
    new Promise<string | undefined>((resolve) => {
      answer = resolve
      lines.setPrompt(prompt)
      lines.prompt()
      feed()
    })
  const readMessage = async () => {
    const first = await ask(prompts[0])
    // A paste is a message as it is.
    if (!first?.trimStart().startsWith(fence) || first.includes(lineEnd)) return first
    let block = first.trimStart().slice(fence.length)
    while (!block.trimEnd().endsWith(fence)) {
      const line = await ask(prompts[1])
      if (line === undefined) return undefined
      block += lineEnd + line
    }
    return block.trimEnd().slice(0, -fence.length).replaceAll(/^↵|↵$/g, '')
  }

  lines.on('line', endQuestion)
  lines.on('SIGINT', () => {
    // Not within a block.
    const isEmpty = lines.line === '' && lines.getPrompt() === prompts[0]
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
        const message = await readMessage()
        if (message !== undefined) return message.replaceAll(lineEnd, '\n')
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
