import { rescueFolder } from '../../config/paths.ts'
import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { AlreadyReported, billedOf, Interrupted, ModelgateError, UsageError } from '../../errors.ts'
import type { Usage } from '../../events/text.ts'
import type { Session } from '../../operations/conversation/conversation-session.ts'
import type { Style } from '../../operations/conversation/turns.ts'
import { fetchModels } from '../../gateway/model-list.ts'
import { generateText } from '../../operations/generate-text.ts'
import { reportError } from '../../output/create-output.ts'
import type { Output } from '../../output/output.ts'
import { loadStyles } from '../../output/screen.ts'
import { createWordWrap } from '../../output/word-wrap.ts'
import { buildGenerateRequest } from '../generate.ts'
import { buildRespondRequest } from '../respond.ts'
import { commandLineOf, rememberCommandLine, type CommonOptions } from '../shared/options/common-options.ts'
import { openSession, type ConversationOptions } from '../shared/text/conversation.ts'
import {
  configuredBaseUrl,
  openGateway,
  readSettings,
  type OpenGateway,
} from '../shared/gateway/open-gateway.ts'
import { parseTextFlag } from '../shared/request/request-body.ts'
import { runOperation } from '../shared/call/run-operation.ts'
import { claimStandardInput } from '../shared/input/standard-input.ts'
import { openTextOutput } from '../shared/text/text-command.ts'
import { attachedPath, createCompleter, isFileIn } from './complete-line.ts'
import { runChatCommand, type Chat } from './chat-commands.ts'
import { readChatHistory, saveChatHistory } from './history-file.ts'
import { openLineEditor, type LineEditor } from './line-editor.ts'
import { readMessage } from './message.ts'

export interface ChatOptions extends ConversationOptions {
  system?: string
}

/** A message for the model; without text, what was said last is asked again. */
interface Question {
  readonly text: string | undefined
  readonly attach: readonly string[]
}

/**
 * A conversation on a terminal, until the user leaves. One gateway, or sandbox, serves all of it; what goes wrong with
 * one message does not end it.
 * @param wanted the style; that of the conversation unless it is said
 * @param first the first message; empty for none
 * @throws ModelgateError for what goes wrong before the first message; the reason of the signal
 */
export async function runChat(
  context: Context,
  options: ChatOptions,
  wanted: Style | undefined,
  first: string,
): Promise<void> {
  const settings = await readSettings(context, options)
  if (!options.sandbox) configuredBaseUrl(settings)
  claimStandardInput(context, 'chat')
  const session = await openSession(context, options, settings, wanted ?? 'respond')
  const { turns, style: lastStyle } = session.conversation
  const style = wanted ?? (turns.length > 0 ? lastStyle : 'respond')
  if (options.system !== undefined) {
    session.instruct(await parseTextFlag(context, '--system', options.system))
  }
  const model = options.model ?? session.conversation.model ?? settings.textModel.value
  if (style === 'generate' && !model && !options.sandbox) {
    throw new UsageError('No model was given: pass -m, or set MODELGATE_TEXT_MODEL.', {
      code: 'model_missing',
    })
  }
  let output: Output | undefined
  const opened = await openGateway(context, options, settings, true, () => output)
  try {
    const isKept = settings.history.value === 'full'
    const history = isKept ? readChatHistory(context) : []
    const setup = { context, options, settings, session, style, opened, history, first }
    const added = await converse(setup, (next) => (output = next))
    if (isKept) await saveChatHistory(context, added, (text) => opened.gate.text(text))
  } finally {
    await opened.close()
  }
  context.signal.throwIfAborted()
}

interface ChatSetup {
  readonly context: Context
  readonly options: ChatOptions
  readonly settings: Settings
  readonly session: Session
  readonly style: Style
  readonly opened: OpenGateway
  readonly history: readonly string[]
  readonly first: string
}

/** @returns the messages, the newest first */
async function converse(setup: ChatSetup, onOutput: (output: Output) => void): Promise<readonly string[]> {
  const { context, settings, session, style, opened, history, first } = setup
  const { stdin, stderr, signal } = context
  const say = (line: string) => {
    const wrap = createWordWrap(() => stderr.columns)
    stderr.write(`${wrap.push(opened.gate.line(line, 4_000))}${wrap.end()}\n`)
  }
  // What --system says is the session's by now.
  const options: ChatOptions = changedOptions(setup.options, { system: undefined })
  const styles = loadStyles(context)
  await styles.ready
  const accent = styles.current?.accent ?? ((text: string) => text)
  let leaving = false
  const editor = openLineEditor({
    marksPastes: context.env['TERM'] !== 'dumb',
    input: stdin.stream!,
    output: stderr.stream!,
    prompts: [accent('> '), accent('… ')],
    history,
    complete: createCompleter(context, modelIds(opened)),
    onInterrupt() {
      if (leaving) return true
      leaving = true
      say('Press Ctrl-C again, or Ctrl-D, to leave.')
      return false
    },
  })
  const leave = () => editor.leave()
  signal.addEventListener('abort', leave, { once: true })
  /** The message that got no answer. */
  let open: { readonly question: Question; readonly billed: boolean } | undefined

  const ask = async (question: Question) => {
    const turn = { ...setup, options, question }
    const failure = await answer(turn, editor, onOutput, (usage) => chat.count(usage))
    if (failure === undefined || failure === 'kept') open = undefined
    else open = { question, billed: billedOf(failure) !== 'no' }
    stderr.write('\n')
    return open === undefined
  }
  const chat: Chat = {
    context,
    options,
    settings,
    session,
    opened,
    say,
    ...tokenCounter(),
    async retry() {
      const last = open
      if (last !== undefined) {
        if (last.billed) say('The first attempt may have been billed.')
        return void (await ask(last.question))
      }
      const before = session.conversation
      if (!session.dropAnswer()) return say('There is nothing to retry.')
      if (!(await ask({ text: undefined, attach: [] }))) session.replace(before)
    },
  }

  try {
    say(title(chat, style, stderr.columns))
    const { turns } = session.conversation
    if (turns.length > 0 && session.announcement !== undefined) say(session.announcement)
    for (let typed: string | undefined = first.trim() === '' ? undefined : first; ; typed = undefined) {
      typed ??= await editor.read()
      if (typed === undefined || signal.aborted) break
      leaving = false
      const message = await readMessage(typed, isFileIn(context))
      if (message.kind === 'command') {
        if (message.name === 'exit') break
        await runChatCommand(chat, message.name, message.rest).catch((error: unknown) =>
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
        const attach = message.attach.map((path) => attachedPath(context, path))
        open = undefined
        await ask({ text: message.text, attach })
      }
    }
  } finally {
    signal.removeEventListener('abort', leave)
    editor.close()
    if (!signal.aborted && stderr.stream !== undefined) stderr.write('\n')
  }
  return editor.added
}

/** The models that the gateway lists, asked for once; none where it lists none. */
function modelIds({ gateway }: OpenGateway): () => Promise<readonly string[]> {
  let ids: Promise<readonly string[]> | undefined
  return () =>
    (ids ??= fetchModels(gateway).then(
      ({ models }) => models.map(({ id }) => id),
      () => [],
    ))
}

/** The one line at the top. */
function title({ options, session, settings }: Chat, style: Style, columns: number): string {
  const named = options.model ?? session.conversation.model ?? settings.textModel.value
  const model = named ?? (options.sandbox ? 'the sandbox' : 'the model of the gateway')
  const long = `Chat with ${model} (${style}). /help lists the commands, Ctrl-D leaves.`
  return long.length < columns ? long : `Chat with ${model}: /help, Ctrl-D`
}

function tokenCounter() {
  const sum = { requests: 0, input: 0, output: 0 }
  return {
    usage: sum,
    count(usage: Usage | null) {
      sum.requests++
      sum.input += usage?.input_tokens ?? 0
      sum.output += usage?.output_tokens ?? 0
    },
  }
}

/** The options of the command line, some of them changed. */
function changedOptions<Changes extends object>(
  options: ChatOptions,
  changes: Changes,
): ChatOptions & Changes {
  return Object.assign(Object.create(options) as ChatOptions, changes)
}

/** What a user can see of a failure; anything but a known one ends the chat. */
async function report(context: Context, error: unknown): Promise<ModelgateError> {
  if (error instanceof AlreadyReported) {
    if (error.cause instanceof ModelgateError) return error.cause
    throw error
  }
  if (!(error instanceof ModelgateError) || error.exit === 'bug') throw error
  await reportError(context, error, { quiet: false })
  return error
}

/**
 * Asks the gateway, and shows the answer while it comes. Ctrl-C stops it, and keeps what came.
 * @returns why there is no answer; `kept` where a part of one was kept
 */
async function answer(
  {
    context,
    options,
    settings,
    session,
    style,
    opened,
    question,
  }: ChatSetup & { readonly question: Question },
  editor: LineEditor,
  onOutput: (output: Output) => void,
  count: (usage: Usage | null) => void,
): Promise<ModelgateError | 'kept' | undefined> {
  const stop = new AbortController()
  const release = editor.hold(() => stop.abort(new Interrupted('interrupt')))
  const signal = AbortSignal.any([context.signal, stop.signal])
  // Everything else is that of the process.
  const turn = Object.create(context, { signal: { value: signal } }) as Context
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
  const before = session.conversation
  try {
    const { text, attach } = question
    const call = {
      context: turn,
      options: changedOptions(options, { attach: [...attach] }),
      own: {},
      words: [],
      prompt: text,
    }
    const build = style === 'respond' ? buildRespondRequest : buildGenerateRequest
    const { request } = await build(call, session)
    const plan = {
      folder: settings.outputDir.value ?? '.',
      keepsResponse: false,
      strict: options.strict === true,
    }
    const { model, body } = request
    const media = [...attach, ...(request.talk?.media ?? [])]
    await runOperation(turn, options as CommonOptions, settings, {
      opened: { ...opened, gateway, hasSent: () => hasSent },
      onOutput,
      logged: { command: 'chat', model, body, media },
      output: async () => ({
        ...(await openTextOutput(context, options as CommonOptions, settings, async () => undefined)),
        rescue: { folder: rescueFolder(context), name: 'chat.txt' },
      }),
      async operation(own) {
        const outcome = await generateText(own, request, plan)
        count(outcome.document?.usage ?? null)
        return outcome
      },
    })
    return undefined
  } catch (error) {
    // The flag is one of the commands; here it is a word of the message.
    const isAttachment = error instanceof ModelgateError && error.message.startsWith('-a: ')
    const failure = await report(
      context,
      isAttachment ? error.amend({ message: error.message.slice(4) }) : error,
    )
    // It has been told already.
    if (context.signal.aborted) throw error
    return session.conversation === before ? failure : 'kept'
  } finally {
    release()
  }
}
