import { isObject, listOf, objectOf, stringOf, type JsonObject } from '../json.ts'

/**
 * What the user said last in a request, whatever its endpoint: the prompt of an image or a video, the text of the last
 * message. Undefined where there is none.
 */
export function promptOf({ prompt, instances, contents, input }: JsonObject): string | undefined {
  const texts =
    typeof prompt === 'string'
      ? [prompt]
      : Array.isArray(instances)
        ? instances.map((instance) => objectOf(instance)['prompt'])
        : Array.isArray(contents)
          ? lastTexts(contents, 'parts')
          : lastTexts(contents ?? input, 'content')
  const found = texts.filter((text) => typeof text === 'string')
  return found.length === 0 ? undefined : found.join('\n')
}

/** The texts of the last message that is not the model's. */
function lastTexts(messages: unknown, inner: 'parts' | 'content'): unknown[] {
  if (typeof messages === 'string') return [messages]
  const last = listOf(messages).findLast((message) => {
    return (
      isObject(message) && message['role'] !== 'model' && message['role'] !== 'assistant' && inner in message
    )
  })
  const content = objectOf(last)[inner]
  return typeof content === 'string'
    ? [content]
    : listOf(content).map((part) => stringOf(objectOf(part)['text']))
}
