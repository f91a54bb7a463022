import { readErrorValue } from '../error-body.ts'
import { isObject, objectOf, stringOf, type JsonObject } from '../json-access.ts'
import { isErrorEvent } from '../reply-error.ts'

/** What a message of the reply is about, as far as its type tells. */
export type MessageKind = 'partial' | 'final' | 'error' | 'unknown'

/**
 * The kind of a message from its `type`, or from the name of its event: `image_generation.partial_image`,
 * `image_edit.completed`, `error`, `upstream_error` (wire facts, section 4 and quirk 17).
 */
export function kindOf(message: JsonObject, eventName: string): MessageKind {
  if (isErrorEvent(eventName)) return 'error'
  const type = stringOf(message['type']) ?? eventName
  if (/partial/i.test(type)) return 'partial'
  if (/(?:^|[._])(?:error|failed)$/i.test(type)) return 'error'
  return /completed$/i.test(type) ? 'final' : 'unknown'
}

/** Whether a message says that something went wrong, whatever its status said (quirks 10 and 17). */
export function isError(message: JsonObject, kind: MessageKind): boolean {
  if (kind === 'error' || Boolean(message['error'])) return true
  const { type, data, b64_json: base64, url } = message
  const isEmpty = [type, data, base64, url].every((value) => value === undefined || value === null)
  return isEmpty && readErrorValue(message).message !== undefined
}

/**
 * The images of a message that is not a partial one, as objects; undefined when it is about something else.
 * @param hasImage whether one has been taken out of it
 */
export function itemsOf(
  message: JsonObject,
  kind: MessageKind,
  hasImage: boolean,
): readonly JsonObject[] | undefined {
  const { data, url } = message
  if (Array.isArray(data)) return data.map(objectOf)
  if (kind === 'final' || hasImage || typeof url === 'string') return [message]
  // A result without images is one, too.
  return 'created' in message || data === null ? [] : undefined
}

/** A message that has not come whole, up to where an image begins in it. */
export function parseHead(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
