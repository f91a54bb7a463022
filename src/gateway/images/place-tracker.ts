import { ContractError } from '../../errors.ts'

/** A value of a reply that may hold an image: in `data[item]`, or, with item null, at the top of an event. */
export interface ImagePlace {
  readonly item: number | null
  readonly field: 'b64_json' | 'url'
}

/** Follows the brackets, commas and keys of one JSON object. Whether they are in order is left to JSON.parse. */
export interface PlaceTracker {
  readonly depth: number
  /** Whether a string that begins now is the key of an object. */
  readonly atKey: boolean
  /** Whether the text of that key matters here. */
  readonly keyMatters: boolean
  /** The place of the value that begins now, if it may hold an image. */
  readonly place: ImagePlace | undefined
  key(text: string): void
  /** One of `{ } [ ] , :`. @throws ContractError when the nesting has no end */
  mark(byte: number): void
}

const OPEN_ARRAY = 91
const CLOSE_ARRAY = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125
const COMMA = 44

/** No reply is nested deeper (fault S12). */
const maxDepth = 512

/** `{ data: [ { b64_json, url } ] }` and `{ b64_json, url }` are the places of images (wire notes, section 4). */
export function createPlaceTracker(): PlaceTracker {
  const stack: number[] = []
  let atKey = false
  let rootKey = ''
  let itemKey = ''
  let item = 0
  const inItem = () =>
    stack.length === 3 && rootKey === 'data' && stack[1] === OPEN_ARRAY && stack[2] === OPEN_OBJECT

  return {
    get depth() {
      return stack.length
    },
    get atKey() {
      return atKey
    },
    get keyMatters() {
      return stack.length === 1 || inItem()
    },
    get place() {
      const isItem = inItem()
      if (stack.length !== 1 && !isItem) return undefined
      const field = isItem ? itemKey : rootKey
      return holdsImages(field) ? { item: isItem ? item : null, field } : undefined
    },
    key(text) {
      if (stack.length === 1) rootKey = text
      else itemKey = text
    },
    mark(byte) {
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (stack.length === maxDepth) throw tooDeep()
        stack.push(byte)
        if (stack.length === 2) item = 0
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) stack.pop()
      else if (byte === COMMA && stack.length === 2) item++
      atKey = (byte === OPEN_OBJECT || byte === COMMA) && stack.at(-1) === OPEN_OBJECT
    },
  }
}

function holdsImages(key: string): key is ImagePlace['field'] {
  return key === 'b64_json' || key === 'url'
}

function tooDeep(): ContractError {
  return new ContractError('reply_too_deep', `The reply is nested more than ${maxDepth} levels deep.`)
}
