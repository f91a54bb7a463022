import { rescueFolder, stateFolder } from '../../../context/folders.ts'
import { UsageError } from '../../../errors.ts'
import { openCalls } from '../../../files/calls/read-calls.ts'
import { shownPath } from '../../../files/file-error.ts'
import { titleOf, type Session } from '../../../operations/conversation/conversation-session.ts'
import type { Conversation, Style } from '../../../operations/conversation/conversation.ts'
import { exchangeOf, lastExchange, pastExchanges } from '../../../operations/conversation/from-log.ts'
import { findCall } from '../../../operations/read-log.ts'
import { roundedDuration } from '../../../quantities.ts'
import type { CommandCall } from '../gateway/open-gateway.ts'
import { askChoice, canAsk } from '../input/questions.ts'
import { isDryRun, type CommonOptions } from '../options/common-options.ts'

export { prepareRequest } from '../../../operations/conversation/conversation-session.ts'

export interface ConversationOptions extends CommonOptions {
  /** Empty for the last call. */
  continue?: string
  conversationFile?: string
}

/** @param offered the style of what the user may choose from where nothing can be continued; undefined for either */
export async function openSession(
  call: CommandCall<ConversationOptions>,
  style: Style,
  offered: Style | undefined = style,
): Promise<Session> {
  const { context, options, settings } = call
  const { conversationFile: path } = options
  const gateway = options.sandbox ? 'sandbox' : settings.baseUrl.value?.origin
  const last = options.continue === undefined ? undefined : await continueCall(call, offered)
  if (path === undefined) return { conversation: last ?? { style, settings: {}, messages: [] }, gateway }
  // `--continue` alone reads the log, which loads nothing for files.
  const { openConversationFile } = await import('../../../operations/conversation/conversation-file.ts')
  const file = await openConversationFile(context, path, {
    style,
    isWritten: !isDryRun(options),
    rescueFolder: rescueFolder(context),
  })
  if (last !== undefined && file.conversation.messages.length > 0) {
    const problem = `--continue cannot be used with ${shownPath(path)}, which already has a conversation.`
    throw new UsageError(problem, { hint: 'Without --continue, the conversation in the file is continued.' })
  }
  return { conversation: last ?? file.conversation, gateway, file }
}

async function continueCall(
  { context, options, settings: { history } }: CommandCall<ConversationOptions>,
  style: Style | undefined,
): Promise<Conversation> {
  const { continue: id = '', noInput } = options
  const folder = stateFolder(context)
  if (folder === undefined) throw nothing('there is no home directory, so no calls are recorded')
  const calls = await openCalls(folder)
  if (id !== '') {
    const exchange = exchangeOf(calls, findCall(calls, id))
    if (exchange === undefined) throw nothing(`the call ${id} has no answer on record`)
    return exchange
  }
  const last = lastExchange(calls, context)
  if (typeof last === 'object') return last
  const past = canAsk(context, noInput) ? [...pastExchanges(calls, style).take(maxOffered)] : []
  if (past.length > 0) {
    const choices = past.map(({ facts, conversation }) => {
      const age = roundedDuration((context.clock.now() - Date.parse(facts.time)) / 1000)
      return { value: conversation, name: `${titleOf(conversation)}, ${age} ago`, description: facts.cwd }
    })
    const question = 'Nothing was said in this terminal or folder. Which one to continue?'
    return await askChoice(context, question, choices)
  }
  if (history.value !== 'full') {
    throw nothing(`the texts of calls are not recorded (history: ${history.value}, ${history.source})`)
  }
  if (last === undefined) throw nothing('there is no exchange of this terminal or this folder')
  throw nothing('the texts of the last calls here were not recorded')
}

const maxOffered = 8

function nothing(reason: string): UsageError {
  return new UsageError(`Nothing to continue: ${reason}.`, {
    code: 'unknown_id',
    phase: 'input',
    hint: '-c ID continues any call that modelgate log lists; --conversation-file talk.yaml keeps a conversation of its own.',
  })
}
