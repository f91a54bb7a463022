import { join } from 'node:path'
import { rescueFolder } from '../../context/folders.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { nearestName } from '../../nearest-name.ts'
import { lastAnswer, textOf } from '../../operations/conversation/conversation.ts'
import type { Session } from '../../operations/conversation/conversation-session.ts'
import { withoutSecrets } from '../../operations/operation.ts'
import { reportText } from '../../output/table-cells.ts'
import type { CommandCall, OpenGateway } from '../shared/gateway/open-gateway.ts'
import { parseTextFlag } from '../shared/request/flag-values.ts'
import type { ConversationOptions } from '../shared/text/conversation.ts'

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

export interface Chat extends CommandCall<ConversationOptions> {
  readonly session: Session
  readonly opened: OpenGateway
  say(line: string): void
  retry(): Promise<void>
}

/** The path that a user means: `~` is the home directory. */
export function expandHome({ home }: Pick<Context, 'home'>, path: string): string {
  return /^~(?=\/|$)/.test(path) ? join(home, path.slice(1)) : path
}

/** The model that the next message goes to; undefined where the gateway chooses. */
export function currentModel({
  options,
  session,
  settings,
}: Pick<Chat, 'options' | 'session' | 'settings'>): string | undefined {
  return options.model ?? session.conversation.model ?? settings.textModel.value
}

export async function runChatCommand(
  chat: Chat,
  name: Exclude<ChatCommand, 'exit'>,
  rest: string,
): Promise<void> {
  const { context, options, session, say } = chat
  switch (name) {
    case 'help':
      return help(chat)
    case 'model':
      if (rest === '') return say(currentModel(chat) ?? 'the model of the gateway')
      options.model = rest
      return say(`From now on: ${rest}.`)
    case 'system':
      if (rest === '') return say(session.conversation.system ?? 'There are no instructions.')
      session.conversation = {
        ...session.conversation,
        system: rest === '-' ? undefined : await parseTextFlag(context, '/system', rest),
      }
      return say(rest === '-' ? 'From now on without instructions.' : 'From now on with these instructions.')
    case 'retry':
      return await chat.retry()
    case 'save':
      return await save(chat, rest)
  }
}

const minColumns = 30

function help({ say, context: { stderr } }: Chat): void {
  const entries = Object.entries(chatCommands).map(
    ([name, { takes, about }]) => [`/${name} ${takes}`.trimEnd(), about] as const,
  )
  // A row as wide as the terminal would be broken once more.
  const rows = reportText(entries, Math.max(stderr.columns, minColumns) - 1)
  rows.trimEnd().split('\n').forEach(say)
  say('@FILE, @"A FILE" or @URL in a message attaches it; \\@ is a literal @.')
  say('A message of several lines is pasted, or stands between """ and """.')
  say('Ctrl-C stops an answer and keeps what has arrived.')
}

async function save({ context, session, gate, say }: Chat, rest: string): Promise<void> {
  if (rest === '')
    throw new UsageError('/save needs a file: talk.yaml for the conversation, answer.md for the last answer.')
  const path = expandHome(context, rest)
  const answer = lastAnswer(session.conversation.messages)
  if (answer.length === 0) throw new UsageError('There is no answer to save yet.')
  const isConversation = /\.(?:ya?ml|json)$/i.test(path)
  const { openAtomicFile } = await import('../../files/atomic-file.ts')
  const file = await openAtomicFile(context, path, { force: false, rescueFolder: rescueFolder(context) })
  if (isConversation) {
    const { formatConversation } = await import('../../operations/conversation/conversation-file.ts')
    await file.write(formatConversation(withoutSecrets(session.conversation, gate), path))
  } else await file.write(answer.map(textOf).join('').replace(/\n?$/, '\n'))
  const { rescued, bytes } = await file.commit()
  if (rescued !== undefined) throw rescued
  const what = isConversation ? 'the conversation' : 'the last answer'
  say(`saved ${what} in ${shownPath(path)} (${bytes} bytes)`)
}
