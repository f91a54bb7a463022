import { imageCreateEndpoint } from '../../contract/images.ts'
import { responsesEndpoint } from '../../contract/responses.ts'
import type { Field } from '../../contract/field.ts'
import { assertToolCount } from '../answer/answer.ts'
import { assertValid, invalidField, type RequestProblem } from '../http/request-problem.ts'
import { isObject, type JsonObject, listOf, objectOf, objectsOf, textOf } from '../json-value.ts'
import {
  choiceShapes,
  formatShapes,
  itemShapes,
  messageParts,
  metadataLimits,
  partSources,
  toolShapes,
} from './request-shapes.ts'
import { imageModelOf, imageRequestOf, kindOfTool, remoteToolNames } from './tools.ts'

/**
 * Checks a body against the specification's table, and what is inside its objects against public practice.
 * @throws RequestProblem 400 that names the field, such as `input[0].content[1].image_url`
 */
export function checkRequest(body: JsonObject): void {
  assertValid(responsesEndpoint, body)
  const tools = objectsOf(body['tools'])
  const choices = listOf(objectOf(body['tool_choice'])['tools'])
  const remote = tools.filter(({ type }) => type === 'mcp').flatMap(remoteToolNames)
  assertToolCount(tools.length + choices.length + remote.length)
  for (const [index, item] of listOf(body['input']).entries()) {
    checkItem(item, `input.${index}`)
  }
  for (const [index, tool] of tools.entries()) checkTool(tool, `tools.${index}`)
  checkChoice(body['tool_choice'])
  const { format } = objectOf(body['text'])
  if (isObject(format)) checkKind(format, 'text.format', formatShapes)
  checkMetadata(objectOf(body['metadata']))
  const { conversation } = body
  if (isObject(conversation)) {
    assertShape(conversation, 'conversation', { type: 'object', about: '', fields: { id: idField } })
  }
}

const idField: Field = { type: 'string', about: '', required: true }

/** `input.0.role` is shown as `input[0].role`. */
function assertShape(value: unknown, path: string, shape: Field): void {
  assertValid({ ...responsesEndpoint, fields: { [path]: shape }, rules: [] }, { [path]: value })
}

function invalid(path: string, problem: string): RequestProblem {
  return invalidField(path.replace(/\.(\d+)(?=\.|$)/g, '[$1]'), problem)
}

/** Checks an object of one of several kinds. */
function checkKind(value: unknown, path: string, shapes: Shapes, kind?: unknown): void {
  if (!isObject(value)) return assertShape(value, path, anyObject)
  const name = kind ?? value['type']
  const shape = typeof name === 'string' && Object.hasOwn(shapes, name) ? shapes[name] : undefined
  if (shape !== undefined) return assertShape(value, path, shape)
  assertShape(name, `${path}.type`, {
    type: 'string',
    about: '',
    required: true,
    values: Object.keys(shapes),
  })
}

type Shapes = Readonly<Record<string, Field>>
const anyObject: Field = { type: 'object', about: '' }

function checkItem(item: unknown, path: string): void {
  const entry = objectOf(item)
  const { type, role, id, content } = entry
  // A message and a reference to an item may leave their type out.
  const implied = role !== undefined ? 'message' : id !== undefined ? 'item_reference' : undefined
  const kind = type ?? implied
  checkKind(item, path, itemShapes, kind)
  if (kind === 'local_shell_call_output' && entry['id'] === undefined && entry['call_id'] === undefined) {
    assertShape(undefined, `${path}.id`, idField)
  }
  const parts = kind === 'message' ? content : entry['output']
  const kinds = messageParts[kind === 'message' ? textOf(role) : 'user']!
  if (!Array.isArray(parts) || !/^(message|function_call_output|custom_tool_call_output)$/.test(textOf(kind)))
    return
  const list = kind === 'message' ? 'content' : 'output'
  for (const [index, part] of parts.entries()) {
    checkPart(part, `${path}.${list}.${index}`, kinds)
  }
}

function checkPart(value: unknown, path: string, kinds: Shapes): void {
  checkKind(value, path, kinds)
  const part = objectOf(value)
  const { type, image_url: image, file_data: data, filename } = part
  const sources = partSources[textOf(type)] ?? []
  if (sources.length > 0 && sources.every((name) => (part[name] ?? null) === null)) {
    throw invalid(path, `must have ${sources.map((name) => `'${name}'`).join(' or ')}`)
  }
  if (typeof image === 'string' && !imageUrl.test(image)) {
    throw invalid(
      `${path}.image_url`,
      'must be an http(s) URL or a base64 data URL of a png, jpeg, webp or gif image',
    )
  }
  if (typeof data !== 'string') return
  if (!fileData.test(data)) throw invalid(`${path}.file_data`, 'must be a base64 data URL')
  if (textOf(filename) === '') assertShape(undefined, `${path}.filename`, idField)
}

const imageUrl = /^(https?:\/\/[^\s/]|data:image\/(png|jpe?g|webp|gif);base64,.)/i
const fileData = /^data:[^,;]+(;[^,;]+)*;base64,./i

const datedName = /_20\d\d_\d\d_\d\d$/

function checkTool(tool: JsonObject, path: string): void {
  const type = textOf(tool['type'])
  checkKind(tool, path, toolShapes, type.replace(datedName, ''))
  const { name } = tool
  if ((type === 'function' || type === 'custom') && !/^[\w-]+$/.test(textOf(name))) {
    throw invalid(`${path}.name`, 'must have only letters, digits, underscores and dashes')
  }
  if (type === 'mcp' && tool['server_url'] === undefined && tool['connector_id'] === undefined) {
    throw invalid(path, "must have 'server_url' or 'connector_id'")
  }
  if (type !== 'image_generation') return
  // Without a stream there are no previews, which is no mistake here.
  const streams = tool['partial_images'] === undefined ? {} : { stream: true }
  const request = { ...imageRequestOf(tool), ...streams, prompt: 'a picture' }
  assertValid(imageCreateEndpoint, request, imageModelOf(tool), `${path}.`)
}

function checkChoice(choice: unknown): void {
  if (!isObject(choice) || (kindOfTool(choice) !== undefined && choice['type'] !== 'mcp')) return
  checkKind(choice, 'tool_choice', choiceShapes)
}

function checkMetadata(metadata: JsonObject): void {
  const entries = Object.entries(metadata)
  const { entries: max, name: maxName, value: maxValue } = metadataLimits
  if (entries.length > max)
    throw invalid('metadata', `must have at most ${max} entries, not ${entries.length}`)
  for (const [name, value] of entries) {
    if (name.length > maxName) throw invalid('metadata', `must have names of at most ${maxName} characters`)
    assertShape(value, `metadata.${name}`, { type: 'string', about: '', maxLength: maxValue })
  }
}
