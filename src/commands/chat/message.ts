import { nearestName } from '../../nearest-name.ts'

/** The commands of a chat, with what they take. */
export const chatCommands = {
  help: { takes: '', about: 'this list' },
  model: { takes: '[ID]', about: 'the model, or another one from now on' },
  system: { takes: '[TEXT]', about: 'the instructions, or others from now on; "-" for none' },
  retry: { takes: '', about: 'ask the last message again' },
  new: { takes: '', about: 'begin a new conversation' },
  save: { takes: 'FILE', about: 'the conversation (.yaml, .json), or the last answer (any other)' },
  usage: { takes: '', about: 'tokens so far' },
  exit: { takes: '', about: 'leave, as Ctrl-D does' },
} as const

export type ChatCommand = keyof typeof chatCommands

const otherNames: Readonly<Record<string, ChatCommand>> = { quit: 'exit', q: 'exit', '?': 'help', h: 'help' }

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
  const [, name, rest] = /^\/([^\s/]*)(?:\s+([^]*))?$/.exec(line) ?? []
  if (name !== undefined) {
    const known = Object.hasOwn(otherNames, name) ? otherNames[name]! : name
    if (Object.hasOwn(chatCommands, known))
      return { kind: 'command', name: known as ChatCommand, rest: (rest ?? '').trim() }
    return { kind: 'unknown', name, near: nearestName(name, Object.keys(chatCommands)) }
  }
  const plain = line.startsWith('//') ? text.replace('//', '/') : text
  const attach: string[] = []
  let kept = ''
  let at = 0
  for (const mention of plain.matchAll(mentions)) {
    const path = mention[1] === undefined ? mention[2]! : mention[1]
    const trimmed = mention[1] === undefined ? path.replace(/[.,;:!?)]+$/, '') : path
    const found = (await isFile(path)) ? path : trimmed
    if (!isAddress(found) && !looksLikePath(found) && !(await isFile(found))) continue
    attach.push(found)
    // The text names the file, without the sign.
    kept += plain.slice(at, mention.index) + found
    at = mention.index + mention[0].length - (mention[1] === undefined ? path.length - found.length : 0)
  }
  return { kind: 'text', text: (kept + plain.slice(at)).replaceAll(escapedSign, '@'), attach }
}

/** At the beginning of a word; `\@` is a literal @. */
const mentions = /(?<=^|[\s([{])@(?:"([^"\n]+)"|([^\s"@][^\s]*))/g
const escapedSign = /(?<=^|\s)\\@/g

const isAddress = (path: string) => /^(?:https?|gs):\/\//i.test(path)

/** What is meant for a file, so that a misspelt one is told and not sent as a word. */
function looksLikePath(path: string): boolean {
  return /^(?:~|\.{1,2})?\//.test(path) || /[\w-]\.[A-Za-z]\w{0,4}$/.test(path)
}

/** The end of a line that is a mention of a file: what stands before its path, and the path so far. */
export function openMention(line: string): { readonly sign: string; readonly path: string } | undefined {
  const [, sign, path] = /(?:^|[\s([{])(@"?)((?<=@")[^"]*|(?<=@)[^\s"]*)$/.exec(line) ?? []
  return sign === undefined || path === undefined ? undefined : { sign, path }
}
