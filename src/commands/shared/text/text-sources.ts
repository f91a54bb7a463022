import type { Context } from '../../../context.ts'
import { UsageError } from '../../../errors.ts'
import { compileAnswerSchema, type AnswerSchema } from '../../../operations/answer-schema.ts'
import { attachBytes, readAttachment, type Attachment } from '../../../operations/attachments.ts'
import { readHistory } from '../../../operations/chat-history.ts'
import { messageField, type Style } from '../../../operations/conversation/conversation.ts'
import type { Body } from '../../../operations/operation.ts'
import { schemaFormat } from '../../../operations/response-request.ts'
import { allInputs } from '../../../problems.ts'
import { readStandardInputBytes } from '../input/standard-input.ts'
import { ofFlag, parseJsonFileFlag, parseTextFlag, underFlag } from '../request/flag-values.ts'
import { setField } from '../request/set-path.ts'

const systemFields = {
  respond: { field: 'instructions', flag: '--instructions', valueOf: (text: string): unknown => text },
  generate: {
    field: 'systemInstruction',
    flag: '--system-instruction',
    valueOf: (text: string): unknown => ({ parts: [{ text }] }),
  },
} as const

export async function addSystem(context: Context, body: Body, style: Style, text: string): Promise<void> {
  const { field, valueOf } = systemFields[style]
  body[field] = valueOf(await parseTextFlag(context, '--system', text))
}

/** @param systemFlag the flag that has said what the system says, if it is not the field's own */
export async function addHistory(
  context: Context,
  body: Body,
  style: Style,
  text: string,
  systemFlag: string | undefined,
): Promise<void> {
  const value = await parseJsonFileFlag(context, '--history', text)
  const history = underFlag('--history', () => readHistory(value, style))
  body[messageField[style]] = history.messages
  if (history.system === undefined) return
  const { field, flag, valueOf } = systemFields[style]
  if ((body[field] ?? undefined) !== undefined) {
    const other = systemFlag ?? flag
    throw new UsageError(`--history has a system message and ${other} gives another: use only one of them.`)
  }
  body[field] = valueOf(history.system)
}

export async function addAnswerSchema(
  context: Context,
  body: Body,
  style: Style,
  text: string,
): Promise<AnswerSchema> {
  const answer = await compileAnswerSchema(context, await parseJsonFileFlag(context, '--schema', text))
  const set = (path: readonly string[], value: unknown) => setField(body, path, value, '--schema')
  if (style === 'respond') set(['text', 'format'], schemaFormat(answer.schema))
  else {
    set(['generationConfig', 'responseMimeType'], 'application/json')
    set(['generationConfig', 'responseJsonSchema'], answer.schema)
  }
  return answer
}

export async function readAttachments(
  context: Context,
  locations: readonly string[],
): Promise<readonly Attachment[]> {
  return await allInputs(locations.map((location) => attachment(context, location)))
}

async function attachment(context: Context, location: string): Promise<Attachment> {
  if (location === '-') {
    const content = await readStandardInputBytes(context, '-a -')
    if (content.length > 0) return attachBytes('stdin', content)
    throw new UsageError('-a -: standard input is empty.', { code: 'empty_file' })
  }
  return readAttachment(context, location).catch((error: unknown) => {
    throw ofFlag('-a', error)
  })
}

/** By the SHA-256 of their content. */
export async function attachmentPaths(
  attachments: readonly Attachment[],
): Promise<ReadonlyMap<string, string>> {
  const paths = new Map<string, string>()
  for (const one of attachments) {
    if (one.kind === 'file' && one.path !== undefined) paths.set(await one.sha256(), one.path)
  }
  return paths
}
