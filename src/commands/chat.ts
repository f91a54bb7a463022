import type { Command } from 'commander'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Context } from '../context.ts'
import { rescueFolder } from '../context/folders.ts'
import { AlreadyReported, billedOf, Interrupted, ModelgateError, UsageError } from '../errors.ts'
import { shownPath } from '../files/file-error.ts'
import { lastAnswer, textOf, type Style } from '../operations/conversation/conversation.ts'
import { announce, dropAnswer, type Session } from '../operations/conversation/conversation-session.ts'
import { generateText } from '../operations/generate-text.ts'
import { withoutSecrets } from '../operations/operation.ts'
import { reportError } from '../output/create-output.ts'
import { loadColours, stylesFor } from '../output/screen.ts'
import { reportText } from '../output/table-cells.ts'
import { createWordWrap } from '../output/word-wrap.ts'
import { buildGenerateRequest } from './generate.ts'
import { buildRespondRequest } from './respond.ts'
import { runOperation } from './shared/call/run-operation.ts'
import {
  configuredBaseUrl,
  openGateway,
  startCall,
  type CommandCall,
  type OpenGateway,
} from './shared/gateway/open-gateway.ts'
import { claimStandardInput } from './shared/input/standard-input.ts'
import { addExamples, addShared, wordOption } from './shared/options/common-options.ts'
import { parseTextFlag } from './shared/request/flag-values.ts'
import { openSession, type ConversationOptions } from './shared/text/conversation.ts'
import { conversationOptions, renderOption, textOutput, textPlan } from './shared/text/text-command.ts'
import { chatCommands, openMessageReader, readMessage, type ChatCommand } from './chat/message-reader.ts'

interface ChatOptions extends ConversationOptions {
  system?: string
  style?: Style
}

interface Chat extends CommandCall<ConversationOptions> {
  readonly style: Style
  readonly session: Session
  readonly opened: OpenGateway
  say(line: string): void
}

/** A message for the model; without text, what was said last is asked again. */
interface Question {
  readonly text?: string
  readonly attach: readonly string[]
}

export function registerChat(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate chat --sandbox', 'try it, nothing configured'],
    ['modelgate chat -m MODEL "Explain monads"'],
    ['modelgate chat -c', 'continue the last exchange of this terminal'],
    ['modelgate chat --conversation-file talk.yaml', 'keep it in a file'],
  ])
  addShared(command, 'model body set validate usage strict money gateway quiet debug noInput')
  command
    .argument('[prompt...]', 'the first message')
    .addOption(wordOption('--style <style>', 'respond (default) or generate', ['respond', 'generate']))
  for (const option of conversationOptions()) command.addOption(option)
  command
    .option('-s, --system <text>', 'instructions as text, or @file')
    .addOption(renderOption())
    .action((words: string[], options: ChatOptions) => runChat(context, options, words.join(' ')))
}

function requireTerminal({ stdin, stderr }: Context, { noInput }: ChatOptions): void {
  if (!noInput && stdin.kind === 'terminal' && stdin.stream !== undefined && stderr.isTerminal) return
  const stream = stdin.kind === 'terminal' ? 'error' : 'input'
  const missing = noInput ? '--no-input forbids it' : `standard ${stream} is not one`
  throw new UsageError(`A chat needs a terminal to type in: ${missing}.`, {
    code: 'not_confirmed',
    hint: 'In a script or a pipe, continue call by call: modelgate respond -c "…", or use --conversation-file.',
  })
}

/** One gateway, or sandbox, serves the whole conversation; what goes wrong with one message does not end it. */
async function runChat(
  context: Context,
  { system, style: wanted, ...options }: ChatOptions,
  first: string,
): Promise<void> {
  requireTerminal(context, options)
  const call = await startCall(context, options)
  const { settings, gate } = call
  const { stderr } = context
  if (!options.sandbox) await configuredBaseUrl(settings)
  claimStandardInput(context, 'chat')
  const session = await openSession(call, wanted ?? 'respond', wanted)
  const style = wanted ?? session.conversation.style
  if (system !== undefined) instruct(session, await parseTextFlag(context, '--system', system))
  if (style === 'generate' && !options.sandbox && !currentModel({ options, session, settings })) {
    throw new UsageError('No model was given: pass -m, or set MODELGATE_TEXT_MODEL.', {
      code: 'model_missing',
    })
  }
  const opened = await openGateway(call, true)
  const say = (line: string) => {
    const wrap = createWordWrap(() => stderr.columns)
    stderr.write(`${wrap.push(gate.line(line, 4_000))}${wrap.end()}\n`)
  }
  try {
    await converse({ ...call, style, session, opened, say }, first)
  } finally {
    await opened.close()
  }
  context.signal.throwIfAborted()
}

async function converse(chat: Chat, first: string): Promise<void> {
  const { context, session, say } = chat
  const { stdin, stderr, signal } = context
  await loadColours(context)
  const { accent } = stylesFor(context, stderr)
  let isLeaving = false
  let stop: AbortController | undefined
  const reader = openMessageReader({
    marksPastes: context.env['TERM'] !== 'dumb',
    input: stdin.stream!,
    output: stderr.stream!,
    prompts: [accent('> '), accent('… ')],
    onInterrupt() {
      if (stop !== undefined) return stop.abort(new Interrupted('interrupt'))
      if (isLeaving) return reader.leave()
      isLeaving = true
      say('Press Ctrl-C again, or Ctrl-D, to leave.')
    },
  })
  signal.addEventListener('abort', reader.leave, { once: true })
  /** The message that got no answer, and why. */
  let open: { readonly question: Question; readonly failure: ModelgateError } | undefined

  /** @returns whether there is an answer, or a part of one */
  const ask = async (question: Question) => {
    stop = new AbortController()
    const before = session.conversation
    const failure = await answer(chat, question, stop.signal)
    stop = undefined
    open = failure && session.conversation === before ? { question, failure } : undefined
    stderr.write('\n')
    return open === undefined
  }
  const retry = async () => {
    const before = session.conversation
    if (open !== undefined) {
      if (billedOf(open.failure) !== 'no') say('The first attempt may have been billed.')
      await ask(open.question)
    } else if (!dropAnswer(session)) say('There is nothing to retry.')
    else if (!(await ask({ attach: [] }))) session.conversation = before
  }
  const isFile = (path: string) => existsSync(resolve(context.cwd, expandHome(context, path)))

  try {
    say(title(chat))
    const continued = announce(session.conversation)
    if (continued !== undefined) say(continued)
    for (let typed = first.trim() === '' ? await reader.read() : first; ; typed = await reader.read()) {
      if (typed === undefined || signal.aborted) break
      isLeaving = false
      const message = readMessage(typed, isFile)
      if (message.kind === 'text') {
        open = undefined
        await ask({ text: message.text, attach: message.attach.map((path) => expandHome(context, path)) })
      } else if (message.kind === 'unknown') {
        const near = message.near === undefined ? '' : ` Did you mean /${message.near}?`
        say(
          `/${message.name} is no command.${near} /help lists them; a text that begins with a slash is sent with //.`,
        )
      } else if (message.kind === 'command') {
        if (message.name === 'exit') break
        const done = message.name === 'retry' ? retry() : obey(chat, message.name, message.rest)
        // The hints of other commands do not help here.
        await done.catch((error: unknown) => report(context, error, { billed: 'no', hint: null }))
      }
    }
  } finally {
    signal.removeEventListener('abort', reader.leave)
    reader.close()
    if (!signal.aborted && stderr.stream !== undefined) stderr.write('\n')
  }
}

function title(chat: Chat): string {
  const model = currentModel(chat) ?? (chat.options.sandbox ? 'the sandbox' : 'the model of the gateway')
  const long = `Chat with ${model} (${chat.style}). /help lists the commands, Ctrl-D leaves.`
  return long.length < chat.context.stderr.columns ? long : `Chat with ${model}: /help, Ctrl-D`
}

/** The model that the next message goes to; undefined where the gateway chooses. */
function currentModel({ options, session, settings }: Pick<Chat, 'options' | 'session' | 'settings'>) {
  return options.model ?? session.conversation.model ?? settings.textModel.value
}

/** @returns the failure, which has been reported; what came before it, or before `stopped`, is kept */
async function answer(
  chat: Chat,
  { text, attach }: Question,
  stopped: AbortSignal,
): Promise<ModelgateError | undefined> {
  const { context, style, session, opened } = chat
  const signal = AbortSignal.any([context.signal, stopped])
  const turn = { ...context, signal }
  let hasSent = false
  const gateway = {
    ...opened.gateway,
    signal,
    onSend() {
      hasSent = true
      opened.gateway.onSend?.()
    },
  }
  try {
    const options = { ...chat.options, attach: [...attach] }
    const build = style === 'respond' ? buildRespondRequest : buildGenerateRequest
    const { request } = await build({ context: turn, options, words: [], prompt: text }, session)
    const media = [...attach, ...(request.talk?.media ?? [])]
    await runOperation(
      { ...chat, context: turn },
      {
        opened: { ...opened, gateway, hasSent: () => hasSent },
        logged: { ...request, command: 'chat', media },
        output: () => textOutput(chat),
        rescue: 'chat.txt',
        operation: (own) => generateText(own, request, textPlan(chat)),
      },
    )
    return undefined
  } catch (error) {
    const failure = await report(context, error)
    if (context.signal.aborted) throw error
    return failure
  }
}

/** Anything but a known failure ends the chat. */
async function report(
  context: Context,
  error: unknown,
  facts: Parameters<ModelgateError['amend']>[0] = {},
): Promise<ModelgateError> {
  if (error instanceof AlreadyReported && error.cause instanceof ModelgateError) return error.cause
  if (!(error instanceof ModelgateError) || error.exit === 'bug') throw error
  // The flag is one of the commands; here it is a word of the message.
  const shown = error.amend({ message: error.message.replace(/^-a: /, ''), ...facts })
  await reportError(context, shown, { quiet: false })
  return shown
}

async function obey(chat: Chat, name: Exclude<ChatCommand, 'exit' | 'retry'>, rest: string): Promise<void> {
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
      instruct(session, rest === '-' ? undefined : await parseTextFlag(context, '/system', rest))
      return say(rest === '-' ? 'From now on without instructions.' : 'From now on with these instructions.')
    case 'save':
      return await save(chat, rest)
  }
}

function instruct(session: Session, system: string | undefined): void {
  session.conversation = { ...session.conversation, system }
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
  const { openAtomicFile } = await import('../files/atomic-file.ts')
  const file = await openAtomicFile(context, path, { force: false, rescueFolder: rescueFolder(context) })
  if (isConversation) {
    const { formatConversation } = await import('../operations/conversation/conversation-file.ts')
    await file.write(formatConversation(withoutSecrets(session.conversation, gate), path))
  } else await file.write(answer.map(textOf).join('').replace(/\n?$/, '\n'))
  const { rescued, bytes } = await file.commit()
  if (rescued !== undefined) throw rescued
  const what = isConversation ? 'the conversation' : 'the last answer'
  say(`saved ${what} in ${shownPath(path)} (${bytes} bytes)`)
}

/** The path that a user means: `~` is the home directory. */
function expandHome({ home }: Pick<Context, 'home'>, path: string): string {
  return /^~(?=\/|$)/.test(path) ? join(home, path.slice(1)) : path
}
