import { Option, type Command } from 'commander'
import type { Context } from '../context.ts'
import { commandInputs, conflictingInputs } from '../contract/command-inputs.ts'
import { flagsOf } from '../contract/field-flags.ts'
import { generateContentEndpoint as endpoint } from '../contract/generate-content.ts'
import { UsageError } from '../errors.ts'
import { listOf } from '../json.ts'
import { addMessage, addSafety, contentRequest, type SafetySetting } from '../operations/content-request.ts'
import type { Session } from '../operations/conversation/conversation-session.ts'
import { appendEntries } from '../operations/operation.ts'
import { functionResponses } from '../operations/tool-outputs.ts'
import {
  checkRequest,
  nameModel,
  startRequest,
  type CommandCall,
  type Draft,
} from './shared/request/build-request.ts'
import {
  addShared,
  allShared,
  collect,
  strictMeanings,
  suggestWords,
} from './shared/options/common-options.ts'
import {
  addContractFlags,
  conflictingFlags,
  inputOption,
  type ConflictingFlags,
} from './shared/request/contract-flags.ts'
import type { ConversationOptions } from './shared/text/conversation.ts'
import { isSet, parseTextFlag, setField, underFlag } from './shared/request/request-body.ts'
import { readTextPrompt } from './shared/request/text-prompt.ts'
import { addExamples, showFirst, type Example } from './shared/help/help-layout.ts'
import { allInputs } from '../problems.ts'
import {
  addTextOutputOptions,
  applyHistory,
  attachmentPaths,
  continued,
  continueOption,
  conversationConflicts,
  conversationFileOption,
  readAnswerSchema,
  readAttachments,
  sendText,
  takeLanguage,
  type TextOptions,
} from './shared/text/text-command.ts'
import {
  contentToolForms,
  contentToolNames,
  readContentTool,
  readToolOutput,
} from './shared/request/tool-flag.ts'

interface GenerateOptions extends TextOptions, ConversationOptions {
  system?: string
  history?: string
  toolOutput?: string[]
  safety?: string[]
  tool?: string[]
}

const flags = flagsOf(endpoint.fields)

const { system, attach, schema } = commandInputs.generate

const conflicts: readonly ConflictingFlags[] = [
  ...conflictingFlags(conflictingInputs.generate),
  ['--history', '--contents'],
  ...conversationConflicts('--contents'),
]

export const generateExamples: readonly Example[] = [
  ['modelgate generate -m MODEL "Name three rivers"'],
  ['modelgate generate -m MODEL -a photo.jpg "What is this?"'],
  ['cat notes.txt | modelgate generate -m MODEL "Summarise"'],
  ['modelgate generate -m MODEL --schema person.json "Invent a person"'],
  ['modelgate generate -c "And then?"', 'continue the last exchange'],
  ['modelgate generate -m MODEL --history chat.json "And then?"'],
  ['modelgate generate -m MODEL -x "A script that renames photos" > rename.sh', 'the code alone'],
]

/** `modelgate generate`: streamed text, content-generation style (specification, endpoint 1). */
export function registerGenerate(command: Command, context: Context, send = sendText): void {
  addExamples(command, generateExamples)
  addShared(command, allShared, strictMeanings.text)
  command
    .argument('[prompt...]', 'what to ask; "-" or a pipe reads standard input, @file a file')
    .addOption(inputOption(system))
    .addOption(inputOption(attach))
    .addOption(continueOption())
    .addOption(conversationFileOption())
    .option(
      '--history <json>',
      'earlier messages: chat messages or contents as JSON, @file, @- or a file name',
    )
    .option(
      '--tool-output <call=json>',
      'what a function that --history calls returned: NAME=JSON or ID=JSON, =@file, =@- (repeatable)',
      collect,
    )
    .addOption(inputOption(schema))
    .option(
      '--safety <category=threshold>',
      'safety setting, such as harassment=BLOCK_NONE (repeatable)',
      collect,
    )
    .addOption(
      suggestWords(
        new Option('--tool <tool>', `${contentToolForms} (repeatable)`).argParser(collect),
        contentToolNames,
      ),
    )
    .action(async (given: string[], _: unknown, self: Command) => {
      const { options, words } = await takeLanguage(
        self.optsWithGlobals<GenerateOptions>(),
        given,
        'generate',
      )
      const { settings, request } = await buildGenerateRequest({ context, options, own: self.opts(), words })
      await send(context, options, settings, request)
    })
  addTextOutputOptions(command)
  addContractFlags(command, flags, conflicts)
  showFirst(
    command,
    'system attach continue schema tool extract temperature max-output-tokens thinking-level stop-sequences seed aspect-ratio',
  )
}

/** @param session the conversation that it goes on with, where no flag names it */
export async function buildGenerateRequest(call: CommandCall<GenerateOptions>, session?: Session) {
  const { context, options, own } = call
  const otherForms = {
    contents: 'history',
    tools: 'tool',
    'safety-settings': 'safety',
    'system-instruction': 'system',
  }
  const draft = await startRequest(call, { endpoint, flags, conflicts, otherForms, modelKind: 'text' })
  const { settings, body, problems } = draft
  const { check } = problems
  await applyShortFlags(draft)
  const talk = await check(() => continued(draft, 'generate', session))
  await check(() => addToolOutputs(draft, talk?.known))
  const answerSchema = await check(async () => {
    const answer = await readAnswerSchema(context, options)
    if (answer === undefined) return undefined
    setField(body, ['generationConfig', 'responseMimeType'], 'application/json', '--schema')
    setField(body, ['generationConfig', 'responseJsonSchema'], answer.schema, '--schema')
    return answer
  })
  const attachments = (await check(() => readAttachments(context, options))) ?? []

  // If one of these could not be read, it probably held the messages.
  const isUnreadable = problems.any && [options.history, own['contents']].some(isGiven)
  const hasContent =
    isUnreadable || isGiven(body['contents']) || isSet(options, 'contents') || talk?.awaitsAnswer === true
  const prompt = await readTextPrompt(draft, { hasContent, joins: true, carried: talk?.model })
  await check(async () => {
    addMessage(body, attachments, prompt)
    talk?.complete(await attachmentPaths(attachments))
  })

  const model = await nameModel(draft, talk?.model)
  const warnings = await checkRequest(draft, model)
  const request = await check(() =>
    contentRequest({ model: model?.id ?? 'model', body, answerSchema, warnings }),
  )
  problems.throwIfAny()
  return { settings: settings!, request: talk === undefined ? request! : { ...request!, talk } }
}

const isGiven = (value: unknown) => value !== undefined

/** Flags that set several fields, or one field in another form. */
async function applyShortFlags(draft: Draft<GenerateOptions>): Promise<void> {
  const { call, body, problems } = draft
  const { context, options } = call
  const { system, history, safety = [], tool = [] } = options
  const { check } = problems
  if (system !== undefined) {
    await check(async () => {
      const text = await parseTextFlag(context, '--system', system)
      body['systemInstruction'] = { parts: [{ text }] }
    })
  }
  if (history !== undefined) {
    await check(async () => {
      const flag = system === undefined ? '--system-instruction' : '--system'
      const given = isGiven(body['systemInstruction'] ?? undefined) ? flag : undefined
      const text = await applyHistory(draft, history, 'generate', given)
      if (text !== undefined) body['systemInstruction'] = { parts: [{ text }] }
    })
  }
  if (safety.length > 0) {
    await check(async () => addSafety(body, await allInputs(safety.map(async (text) => readSafety(text)))))
  }
  if (tool.length > 0) {
    const tools = () => allInputs(tool.map((text) => readContentTool(context, text)))
    await check(async () => appendEntries(body, 'tools', await tools()))
  }
}

/** @param known the messages of the conversation that is gone on with */
async function addToolOutputs(
  { call, body, problems }: Draft<GenerateOptions>,
  known: readonly unknown[] = [],
): Promise<void> {
  const { context, options } = call
  const { toolOutput = [] } = options
  if (toolOutput.length === 0) return
  const outputs = await allInputs(toolOutput.map((text) => readToolOutput(context, '--tool-output', text)))
  // What could not be read may hold the calls.
  if (problems.any) return
  const contents = [...known, ...listOf(body['contents'])]
  const message = underFlag('--tool-output', () => functionResponses(contents, outputs))
  appendEntries(body, 'contents', [message])
}

/**
 * One `--safety category=threshold`. The category may be given without its prefix and in lower case.
 * @throws UsageError when it is not one name, `=` and one word
 */
function readSafety(text: string): SafetySetting {
  const [name = '', threshold = '', ...rest] = text.split('=')
  if (name.trim() === '' || threshold.trim() === '' || rest.length > 0) {
    throw new UsageError(
      `--safety ${JSON.stringify(text)} must be category=threshold, such as harassment=BLOCK_NONE.`,
    )
  }
  const category = name.trim().toUpperCase().replaceAll('-', '_')
  return {
    category: category.startsWith('HARM_CATEGORY_') ? category : `HARM_CATEGORY_${category}`,
    threshold: threshold.trim().toUpperCase().replaceAll('-', '_'),
  }
}
