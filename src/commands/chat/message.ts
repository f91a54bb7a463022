import { nearestName } from '../../nearest-name.ts'

/** The commands of a chat, with what they take. */
export const chatCommands = {
  help: { takes: '', about: 'this list' },
  model: { takes: '[ID]', about: 'the model, or another one from now on' },
  system: { takes: '[TEXT]', about: 'the instructions, or others from now on; "-" for none' },
  retry: { takes: '', about: 'ask the last message again' },
  save: { takes: 'FILE', about: 'the conversation (.yaml, .json), or the last answer (any other)' },
  exit: { takes: '', about: 'leave, as Ctrl-D does' },
} as const

export type ChatCommand = keyof typeof chatCommands

/** A message of the user: words for the model, or a command. */
export type Message =
  | { readonly kind: 'text'; readonly text: string; readonly attach: readonly string[] }
  | { readonly kind: 'command'; readonly name: ChatCommand; readonly rest: string }
  | { readonly kind: 'unknown'; readonly name: string; readonly near: string | undefined }
  | { readonly kind: 'empty' }

/**
 * Reads a message. `/name` is a command, `//` begins a text with a slash, and `@path` attaches a file; so does
 * `@"a path"`. A path like `/etc/hosts` is no command.
 * @param isFile whether there is such a file
 */
export async function readMessage(
  text: string,
  isFile: (path: string) => Promise<boolean>,
): Promise<Message> {
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
    const path = quoted ?? ((await isFile(word)) ? word : trimmed)
    if (!looksLikeFile(path) && !(await isFile(path))) continue
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

/** An address, or what is meant for a file, so that a misspelt one is told and not sent as a word. */
function looksLikeFile(path: string): boolean {
  return /^(?:(?:https?|gs):\/\/|(?:~|\.{1,2})?\/)/i.test(path) || /[\w-]\.[A-Za-z]\w{0,4}$/.test(path)
}
