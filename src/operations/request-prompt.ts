import { UsageError } from '../errors.ts'
import { isObject, listOf, objectOf, stringOf, type JsonObject } from '../json.ts'

/** A path to a text in a body: names and indices. */
type Path = readonly (string | number)[]

/**
 * What the user said last in a request, whatever its endpoint: the prompt of an image or a video, the text of the last
 * message. Undefined where there is none.
 */
export function promptOf(body: JsonObject): string | undefined {
  const texts = promptPaths(body).map((path) => valueAt(body, path) as string)
  return texts.length === 0 ? undefined : texts.join('\n')
}

/**
 * A copy of the body with another prompt.
 * @throws UsageError where it has no text that could be replaced, or several
 */
export function withPrompt(body: JsonObject, prompt: string): JsonObject {
  const [path, ...others] = promptPaths(body)
  if (path !== undefined && others.length === 0) return replacedAt(body, path, prompt) as JsonObject
  const problem = path === undefined ? 'has no text' : 'has several texts'
  throw new UsageError(`The last message of the request ${problem}, so a new prompt has no place in it.`, {
    code: 'prompt_has_no_place',
    hint: 'Change the request with --set, or write it anew.',
  })
}

function promptPaths(body: JsonObject): Path[] {
  const { prompt, instances, contents, input } = body
  if (typeof prompt === 'string') return [['prompt']]
  if (Array.isArray(instances)) {
    return instances.length === 1 && typeof objectOf(instances[0])['prompt'] === 'string'
      ? [['instances', 0, 'prompt']]
      : instances.flatMap((instance: unknown, at) =>
          typeof objectOf(instance)['prompt'] === 'string' ? [['instances', at, 'prompt']] : [],
        )
  }
  if (typeof contents === 'string' || typeof input === 'string') {
    return [[typeof contents === 'string' ? 'contents' : 'input']]
  }
  return Array.isArray(contents)
    ? lastTexts(contents, 'contents', 'parts')
    : lastTexts(listOf(input), 'input', 'content')
}

/** The texts of the last message that is not the model's. */
function lastTexts(messages: readonly unknown[], field: string, inner: string): Path[] {
  const at = messages.findLastIndex((message) => {
    return (
      isObject(message) && message['role'] !== 'model' && message['role'] !== 'assistant' && inner in message
    )
  })
  const content = objectOf(messages[at])[inner]
  if (typeof content === 'string') return [[field, at, inner]]
  return listOf(content).flatMap((part, index) =>
    stringOf(objectOf(part)['text']) === undefined ? [] : [[field, at, inner, index, 'text']],
  )
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, step) => (inner as Record<string | number, unknown>)[step], value)
}

function replacedAt(value: unknown, [step, ...rest]: Path, text: string): unknown {
  if (step === undefined) return text
  if (Array.isArray(value)) return value.with(step as number, replacedAt(value[step as number], rest, text))
  const fields = value as JsonObject
  return { ...fields, [step]: replacedAt(fields[step], rest, text) }
}
