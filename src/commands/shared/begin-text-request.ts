import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import type { AnswerSchema } from './answer-schema.ts'
import { readAttachment, type Attachment } from './attachments.ts'
import { checkBeforeAsking, checkTextPrompt, readTextPrompt } from './text-prompt.ts'
import type { CommonOptions } from './common-options.ts'
import {
  applyContractFlags,
  type ContractFlag,
  refuseConflicts,
  type ConflictingFlags,
} from './contract-flags.ts'
import { configuredBaseUrl, readSettings } from './open-gateway.ts'
import { type ProblemList, allInputs } from './problem-list.ts'
import { startBody, type Body } from './request-body.ts'

/** The options that both text commands have. */
export interface TextOptions extends CommonOptions {
  attach?: string[]
  schema?: string
}

/** What each text command has of its own. */
export interface TextFlags<Options extends TextOptions> {
  readonly contractFlags: readonly ContractFlag[]
  readonly rivals: readonly ConflictingFlags[]
  /** The flags that stand for more than one field, or for one in another form. */
  applyShortFlags(context: Context, options: Options, body: Body, problems: ProblemList): Promise<void>
  applyAnswerSchema(context: Context, text: string | undefined, body: Body): Promise<AnswerSchema | undefined>
}

/** A request as far as it is known before its prompt. */
export interface BegunRequest {
  /** Undefined when they could not be read: then that is among the problems. */
  readonly settings: Settings | undefined
  readonly body: Body
  readonly answerSchema: AnswerSchema | undefined
  readonly attachments: readonly Attachment[]
}

/**
 * Reads everything of a text request but its prompt; what is wrong with it is added to the problems.
 * @param own the values of the command's own flags
 */
export async function beginTextRequest<Options extends TextOptions>(
  context: Context,
  options: Options,
  own: Readonly<Record<string, unknown>>,
  flags: TextFlags<Options>,
  problems: ProblemList,
): Promise<BegunRequest> {
  const { step } = problems
  const settings = await step(() => readSettings(context, options))
  if (settings !== undefined && !options.sandbox) await step(() => configuredBaseUrl(settings))
  await step(() => refuseConflicts(own, flags.rivals))
  const body: Body = (await step(() => startBody(context, options))) ?? {}
  await applyContractFlags(context, flags.contractFlags, own, body, problems)
  await flags.applyShortFlags(context, options, body, problems)
  const answerSchema = await step(() => flags.applyAnswerSchema(context, options.schema, body))
  const attachments = await step(() =>
    allInputs((options.attach ?? []).map((name) => readAttachment(context, name))),
  )
  return { settings, body, answerSchema, attachments: attachments ?? [] }
}

export interface PromptPlace {
  readonly settings: Settings | undefined
  /** Whether the request already has something to answer. */
  readonly hasContent: boolean
  readonly hasModel: boolean
}

/** The prompt: given, or asked for, and then only where nothing else is wrong with the call. */
export async function takePrompt(
  context: Context,
  words: readonly string[],
  options: CommonOptions,
  { settings, hasContent, hasModel }: PromptPlace,
  problems: ProblemList,
): Promise<string | undefined> {
  const { step } = problems
  const isAsked = (words.length === 0 && !hasContent) || !hasModel
  if (isAsked && !problems.any) await step(() => checkBeforeAsking(context, options, settings))
  const take = problems.any ? checkTextPrompt : readTextPrompt
  return step(() => take(context, words, options, { settings, hasContent, joins: true }))
}
