import type { Field } from '../../contract/field.ts'
import { generateContentEndpoint } from '../../contract/generate-content.ts'
import { assertToolCount } from '../answer/answer.ts'
import { invalidField, missingField } from '../http/request-problem.ts'
import { isObject, objectOf, objectsOf, textOf, textsOf, listOf, type JsonObject } from '../json-value.ts'

/** The fields of which a part has exactly one, each with what it has to hold (wire notes, section 1, "Part kinds"). */
const contentsOfPart: Readonly<Record<string, readonly string[]>> = {
  text: [],
  inlineData: ['mimeType', 'data'],
  fileData: ['fileUri'],
  functionCall: ['name'],
  functionResponse: ['name', 'response'],
  executableCode: ['code', 'language'],
  codeExecutionResult: ['outcome'],
  toolCall: ['toolType'],
  toolResponse: ['toolType'],
}

/** Fields whose value has names that are the caller's own. */
const ownNames = /^(?:args|response|parameters|responseSchema|\w*JsonSchema|labels)$/

/** The body with the names of protocol buffers in camel case: `mime_type` as public clients send it, too (wire notes, section 1). */
export function withCanonicalNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withCanonicalNames)
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([name, inner]) => {
    const canonical = name.replaceAll(/(?<=[a-z])_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    return [canonical, ownNames.test(canonical) ? inner : withCanonicalNames(inner)] as const
  })
  return Object.fromEntries(entries)
}

/** Checks what the contract's table leaves open: the roles, and the parts of every kind. */
export function assertContents(body: JsonObject): void {
  const called = new Set<unknown>()
  for (const [index, { role, parts }] of objectsOf(body['contents']).entries()) {
    const field = `contents[${index}]`
    // `function` is an older word of public clients.
    if (role !== undefined && !['user', 'model', 'function'].includes(textOf(role))) {
      throw invalidField(`${field}.role`, 'must be user or model')
    }
    for (const [at, part] of objectsOf(parts).entries()) {
      assertPart(part, `${field}.parts[${at}]`)
      const { functionCall, functionResponse } = part
      if (functionCall !== undefined) called.add(objectOf(functionCall)['name'])
      if (functionResponse !== undefined && !called.has(objectOf(functionResponse)['name'])) {
        throw invalidField(`${field}.parts[${at}].functionResponse`, 'must follow a functionCall of its name')
      }
    }
  }
  for (const [at, part] of objectsOf(objectOf(body['systemInstruction'])['parts']).entries()) {
    assertPart(part, `systemInstruction.parts[${at}]`)
  }
  assertCalls(body)
  for (const name of ['toolConfig', 'safetySettings', 'generationConfig'] as const) {
    assertWords(generateContentEndpoint.fields[name]!, body[name], name)
  }
}

/** Fields whose words the contract only suggests, and public services extend. */
const openFields = new Set(['category', 'responseMimeType'])

/** The words of public practice, in any case, and those for no choice (wire notes, section 1, "Enums"). */
function assertWords({ known, items, fields = {} }: Field, value: unknown, path: string): void {
  if (typeof value === 'string' && known !== undefined) {
    const word = value.toUpperCase()
    if (known.includes(word) || word.endsWith('_UNSPECIFIED')) return
    throw invalidField(path, `must be one of ${known.join(', ')}`)
  }
  if (items !== undefined) {
    for (const [index, entry] of listOf(value).entries()) assertWords(items, entry, `${path}[${index}]`)
  }
  for (const [name, field] of Object.entries(fields)) {
    if (!openFields.has(name)) assertWords(field, objectOf(value)[name], `${path}.${name}`)
  }
}

function assertPart(part: JsonObject, field: string): void {
  const [kind, other] = Object.keys(contentsOfPart).filter((name) => part[name] !== undefined)
  if (kind === undefined) {
    throw invalidField(field, `must have one of ${Object.keys(contentsOfPart).join(', ')}`)
  }
  if (other !== undefined) throw invalidField(field, `must have only one of ${kind} and ${other}`)
  if (kind === 'text') return
  const content = part[kind]
  if (!isObject(content)) throw invalidField(`${field}.${kind}`, 'must be an object')
  for (const name of contentsOfPart[kind]!) {
    const [value, at] = [content[name], `${field}.${kind}.${name}`]
    if (value === undefined) throw missingField(at)
    if (name === 'response') {
      if (typeof value !== 'object' || value === null) throw invalidField(at, 'must be an object')
    } else if (typeof value !== 'string') throw invalidField(at, 'must be text')
  }
  if (kind !== 'inlineData') return
  if (!/^[\w.+-]+\/[\w.+-]+(?:\s*;.*)?$/.test(textOf(content['mimeType']))) {
    throw invalidField(`${field}.inlineData.mimeType`, 'must be a media type, such as image/png')
  }
  if (!/^[\w+/-]*={0,2}$/.test(textOf(content['data'])))
    throw invalidField(`${field}.inlineData.data`, 'must be base64')
}

/** @throws RequestProblem 400 for an allowed function that is not declared, and a call that is required of none */
function assertCalls(body: JsonObject): void {
  const { allowedFunctionNames, mode } = objectOf(objectOf(body['toolConfig'])['functionCallingConfig'])
  const tools = objectsOf(body['tools'])
  const functions = tools.flatMap((tool) => listOf(tool['functionDeclarations']))
  assertToolCount(functions.length + tools.flatMap((tool) => listOf(tool['mcpServers'])).length)
  const declared = new Set(objectsOf(functions).map(({ name }) => name))
  // These call functions without declaring them in the request.
  const callsOwn = tools.some(({ computerUse, mcpServers }) => (computerUse ?? mcpServers) !== undefined)
  if (textOf(mode).toUpperCase() === 'ANY' && declared.size === 0 && !callsOwn) {
    throw invalidField('toolConfig.functionCallingConfig.mode', 'must have a function to call')
  }
  const unknown = textsOf(allowedFunctionNames).findIndex((name) => !declared.has(name))
  if (unknown === -1) return
  const field = `toolConfig.functionCallingConfig.allowedFunctionNames[${unknown}]`
  throw invalidField(field, 'must be the name of a declared function')
}
