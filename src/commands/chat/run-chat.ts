import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Context } from '../../context.ts'
import { AlreadyReported, billedOf, Interrupted, ModelgateError, UsageError } from '../../errors.ts'
import type { Style } from '../../operations/conversation/conversation.ts'
import { announce, dropAnswer } from '../../operations/conversation/conversation-session.ts'
import { generateText } from '../../operations/generate-text.ts'
import { reportError } from '../../output/create-output.ts'
import { loadColours, stylesFor } from '../../output/screen.ts'
import { createWordWrap } from '../../output/word-wrap.ts'
import { buildGenerateRequest } from '../generate.ts'
import { buildRespondRequest } from '../respond.ts'
import { runOperation } from '../shared/call/run-operation.ts'
import { configuredBaseUrl, openGateway, startCall } from '../shared/gateway/open-gateway.ts'
import { claimStandardInput } from '../shared/input/standard-input.ts'
import { commandLineOf, rememberCommandLine } from '../shared/options/common-options.ts'
import { parseTextFlag } from '../shared/request/flag-values.ts'
import { openSession, type ConversationOptions } from '../shared/text/conversation.ts'
import { textOutput } from '../shared/text/text-command.ts'
import { currentModel, expandHome, readMessage, runChatCommand, type Chat } from './chat-commands.ts'
import { openMessageReader } from './message-reader.ts'

export interface ChatOptions extends ConversationOptions {
  system?: string
}

/** A message for the model; without text, what was said last is asked again. */
interface Question {
  readonly text: string | undefined
  readonly attach: readonly string[]
}

/**
 * One gateway, or sandbox, serves the whole conversation; what goes wrong with one message does not end it.
 * @param wanted the style; that of the conversation unless it is said
 */
export async function runChat(
  context: Context,
  { system, ...options }: ChatOptions,
  wanted: Style | undefined,
  first: string,
): Promise<void> {
  const call = await startCall(context, options)
  const { settings } = call
  if (!options.sandbox) configuredBaseUrl(settings)
  claimStandardInput(context, 'chat')
  const session = await openSession(call, wanted ?? 'respond', wanted)
  const style = wanted ?? session.conversation.style
  if (system !== undefined) {
    const instructions = await parseTextFlag(context, '--system', system)
    session.conversation = { ...session.conversation, system: instructions }
  }
  if (style === 'generate' && !options.sandbox && !currentModel({ options, session, settings })) {
    throw new UsageError('No model was given: pass -m, or set MODELGATE_TEXT_MODEL.', {
      code: 'model_missing',
    })
  }
  const opened = await openGateway(call, true)
  try {
    await converse({ ...call, session, opened }, style, first)
  } finally {
    await opened.close()
  }
  context.signal.throwIfAborted()
}

type Talk = Omit<Chat, 'say' | 'retry'>

async function converse(talk: Talk, style: Style, first: string): Promise<void> {
  const { context, session, gate } = talk
  const { stdin, stderr, signal } = context
  const say = (line: string) => {
    const wrap = createWordWrap(() => stderr.columns)
    stderr.write(`${wrap.push(gate.line(line, 4_000))}${wrap.end()}\n`)
  }
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
  const leave = () => reader.leave()
  signal.addEventListener('abort', leave, { once: true })
  /** The message that got no answer. */
  let open: { readonly question: Question; readonly isBilled: boolean } | undefined

  /** @returns whether there is an answer, or a part of one */
  const ask = async (question: Question) => {
    stop = new AbortController()
    const before = session.conversation
    const failure = await answer(talk, style, question, stop.signal)
    stop = undefined
    const isAnswered = failure === undefined || session.conversation !== before
    open = isAnswered ? undefined : { question, isBilled: billedOf(failure) !== 'no' }
    stderr.write('\n')
    return isAnswered
  }
  const retry = async () => {
    const before = session.conversation
    if (open !== undefined) {
      if (open.isBilled) say('The first attempt may have been billed.')
      await ask(open.question)
    } else if (!dropAnswer(session)) say('There is nothing to retry.')
    else if (!(await ask({ text: undefined, attach: [] }))) session.conversation = before
  }
  const isFile = (path: string) =>
    stat(resolve(context.cwd, expandHome(context, path))).then(
      () => true,
      () => false,
    )

  try {
    say(title(talk, style))
    const continued = announce(session.conversation)
    if (continued !== undefined) say(continued)
    for (let typed = first.trim() === '' ? await reader.read() : first; ; typed = await reader.read()) {
      if (typed === undefined || signal.aborted) break
      isLeaving = false
      const message = await readMessage(typed, isFile)
      if (message.kind === 'command') {
        if (message.name === 'exit') break
        await runChatCommand({ ...talk, say, retry }, message.name, message.rest).catch((error: unknown) =>
          // The hints of other commands do not help here.
          report(
            context,
            error instanceof ModelgateError ? error.amend({ billed: 'no', hint: null }) : error,
          ),
        )
      } else if (message.kind === 'unknown') {
        const near = message.near === undefined ? '' : ` Did you mean /${message.near}?`
        say(
          `/${message.name} is no command.${near} /help lists them; a text that begins with a slash is sent with //.`,
        )
      } else if (message.kind === 'text') {
        open = undefined
        await ask({ text: message.text, attach: message.attach.map((path) => expandHome(context, path)) })
      }
    }
  } finally {
    signal.removeEventListener('abort', leave)
    reader.close()
    if (!signal.aborted && stderr.stream !== undefined) stderr.write('\n')
  }
}

function title(talk: Talk, style: Style): string {
  const model = currentModel(talk) ?? (talk.options.sandbox ? 'the sandbox' : 'the model of the gateway')
  const long = `Chat with ${model} (${style}). /help lists the commands, Ctrl-D leaves.`
  return long.length < talk.context.stderr.columns ? long : `Chat with ${model}: /help, Ctrl-D`
}

/** Anything but a known failure ends the chat. */
async function report(context: Context, error: unknown): Promise<ModelgateError> {
  if (error instanceof AlreadyReported) {
    if (error.cause instanceof ModelgateError) return error.cause
    throw error
  }
  if (!(error instanceof ModelgateError) || error.exit === 'bug') throw error
  await reportError(context, error, { quiet: false })
  return error
}

/** @returns the failure, which has been reported; what came before it, or before `stopped`, is kept */
async function answer(
  talk: Talk,
  style: Style,
  { text, attach }: Question,
  stopped: AbortSignal,
): Promise<ModelgateError | undefined> {
  const { context, settings, session, opened } = talk
  const signal = AbortSignal.any([context.signal, stopped])
  const turn = { ...context, signal }
  rememberCommandLine(turn, commandLineOf(context))
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
    const options = { ...talk.options, attach: [...attach] }
    const build = style === 'respond' ? buildRespondRequest : buildGenerateRequest
    const { request } = await build({ context: turn, options, words: [], prompt: text }, session)
    const folder = settings.outputDir.value ?? '.'
    const plan = { folder, keepsResponse: false, strict: options.strict === true }
    const { model, body } = request
    const media = [...attach, ...(request.talk?.media ?? [])]
    await runOperation(
      { ...talk, context: turn },
      {
        opened: { ...opened, gateway, hasSent: () => hasSent },
        logged: { command: 'chat', model, body, media },
        output: () => textOutput(talk),
        rescue: 'chat.txt',
        operation: (own) => generateText(own, request, plan),
      },
    )
    return undefined
  } catch (error) {
    // The flag is one of the commands; here it is a word of the message.
    const isAttachment = error instanceof ModelgateError && error.message.startsWith('-a: ')
    const known = isAttachment ? error.amend({ message: error.message.slice(4) }) : error
    const failure = await report(context, known)
    if (context.signal.aborted) throw error
    return failure
  }
}
