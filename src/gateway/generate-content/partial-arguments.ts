import { dangerousNames } from '../../files/dangerous-names.ts'
import { isObject, objectsOf, stringOf, type JsonObject } from '../json-access.ts'

/** The arguments of a function call that arrives in pieces. */
export interface PartialArguments {
  add(partialArgs: unknown): void
  readonly value: unknown
}

const maxIndex = 1023
const maxSteps = 100

/**
 * Puts together `functionCall.partialArgs[]`: each piece names a place by a JSON path and adds
 * a value, or the next part of a string, there (recorded from Vertex; wire facts, "Part kinds").
 */
export function createPartialArguments(): PartialArguments {
  const root: Record<string, unknown> = {}
  return {
    add(partialArgs) {
      for (const piece of objectsOf(partialArgs)) {
        const path = parsePath(stringOf(piece['jsonPath']) ?? '')
        if (path !== undefined) place(root, path, piece)
      }
    },
    get value() {
      return root
    },
  }
}

/** `$.items[0]['a b'].name` as its steps; undefined for anything that is not such a path, or beyond all bounds. */
function parsePath(text: string): (string | number)[] | undefined {
  const steps: (string | number)[] = []
  const step = /\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/y
  step.lastIndex = text.startsWith('$') ? 1 : 0
  while (step.lastIndex < text.length) {
    const match = step.exec(text)
    if (match === null) return undefined
    const name = match[1] ?? match[3] ?? match[4]
    if (name !== undefined && dangerousNames.has(name)) return undefined
    if (Number(match[2]) > maxIndex || steps.length === maxSteps) return undefined
    steps.push(name ?? Number(match[2]))
  }
  return steps.length === 0 ? undefined : steps
}

function place(root: Record<string, unknown>, path: readonly (string | number)[], piece: JsonObject): void {
  let at: Record<string, unknown> = root
  for (const [index, step] of path.slice(0, -1).entries()) {
    if (Array.isArray(at) && typeof step === 'string') return
    const child = Object.hasOwn(at, step) ? at[step] : undefined
    if (isObject(child) || Array.isArray(child)) at = child as Record<string, unknown>
    else at = at[step] = (typeof path[index + 1] === 'number' ? [] : {}) as Record<string, unknown>
  }
  const last = path.at(-1)!
  // A name in an array would be its `length` at best.
  if (Array.isArray(at) && typeof last === 'string') return
  const before = Object.hasOwn(at, last) ? at[last] : undefined
  const text = stringOf(piece['stringValue'])
  if (text !== undefined) at[last] = typeof before === 'string' ? before + text : text
  else if ('numberValue' in piece) at[last] = piece['numberValue']
  else if ('boolValue' in piece) at[last] = piece['boolValue']
  else if ('nullValue' in piece) at[last] = null
}
