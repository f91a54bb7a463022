import { creatingCommands } from '../../contract/commands.ts'
import type { Creation } from '../../cost/creation.ts'
import { isObject } from '../../json.ts'
import type { Attachment } from '../../operations/attachments.ts'
import { addMessage } from '../../operations/content-request.ts'
import { textCreation } from '../../operations/generate-text.ts'
import { imageCreation } from '../../operations/image-request.ts'
import type { Body } from '../../operations/operation.ts'
import { addInput, schemaFormat } from '../../operations/response-request.ts'
import { addInstance, videoCount, videoCreation, type InstanceMedia } from '../../operations/video-request.ts'
import { fieldsOf } from './command-fields.ts'
import type { Instance } from './manifest.ts'

interface ReadInputs {
  readonly texts: ReadonlyMap<string, string>
  readonly attachments: readonly Attachment[]
  readonly media: InstanceMedia
}

/** Stands for a text that another instance is still to make. */
const unknownText = '…'

/**
 * The body that the fields of an instance make, for checks and estimates: nothing is read, so files are missing, and so
 * are texts that other instances make.
 */
export function bodyOfFields(instance: Instance): Body {
  const texts = new Map<string, string>()
  for (const [name, field] of Object.entries(instance.fields)) {
    if (field.kind === 'text') texts.set(name, field.text)
    if (field.kind === 'text of') texts.set(name, unknownText)
  }
  // A message of nothing but files is a message.
  if (!texts.has('prompt') && instance.fields['attach'] !== undefined) texts.set('prompt', unknownText)
  return bodyWith(instance, { texts, attachments: [], media: {} })
}

/**
 * What one request of an instance creates, as far as its fields say: nothing is read, so what it costs is estimated
 * without its files and without texts that other instances make.
 */
export function creationOf(instance: Instance): Creation {
  const { lane, model, count } = instance
  const body = bodyOfFields(instance)
  if (lane === 'text') return textCreation({ model, body })
  if (lane === 'video') return videoCreation({ model: model ?? '', body, count })
  return imageCreation({ model, body, wanted: Array.from({ length: count }, (_, at) => at + 1) })
}

/** How many outputs one result of this body has. */
export function outputCount({ lane }: Pick<Instance, 'lane'>, body: Body): number {
  if (lane === 'video') return 'instances' in body ? videoCount(body) : 1
  const { n } = body
  return lane === 'image' && typeof n === 'number' && n >= 1 ? Math.floor(n) : 1
}

/** The body of an instance's request; the sources of an image are not a part of it. */
export function bodyWith(instance: Instance, { texts, attachments, media }: ReadInputs): Body {
  const { command, fields, model } = instance
  const body: Body = {}
  const contract = creatingCommands[command]
  const message = contract.prompt.name
  // The text of a message has its place beside what is attached.
  const isOwn = command === 'respond' || command === 'generate' || command === 'video generate'
  for (const known of fieldsOf(command).values()) {
    if (!('path' in known) || known.path === null) continue
    const { name, path } = known
    const field = fields[name]
    const value = field?.kind === 'value' ? structuredClone(field.value) : texts.get(name)
    const isMessage = isOwn && name === message && texts.has(name)
    if (value !== undefined && !isMessage) setAt(body, path, value)
  }
  if (model !== null && contract.model.location === 'body') body['model'] ??= model
  const prompt = texts.get(message)
  const schema = fields['schema']?.kind === 'value' ? fields['schema'].value : undefined
  if (command === 'generate') {
    const system = texts.get('system')
    if (system !== undefined) body['systemInstruction'] = { parts: [{ text: system }] }
    if (schema !== undefined) {
      setAt(body, ['generationConfig', 'responseMimeType'], 'application/json')
      setAt(body, ['generationConfig', 'responseJsonSchema'], schema)
    }
    addMessage(body, attachments, prompt)
  } else if (command === 'respond') {
    if (schema !== undefined) setAt(body, ['text', 'format'], schemaFormat(schema))
    addInput(body, attachments, prompt)
  } else if (command === 'video generate') {
    body['parameters'] ??= {}
    addInstance(body, prompt, media)
  }
  return body
}

/** Sets a value inside the body, with the objects around it. What is no object stays, for the contract's check. */
function setAt(body: Body, [name, ...rest]: readonly string[], value: unknown): void {
  if (name === undefined) return
  if (rest.length === 0) body[name] = value
  else {
    body[name] ??= {}
    if (isObject(body[name])) setAt(body[name] as Body, rest, value)
  }
}
