import { chooseCalls, type Scenario } from '../answer/answer.ts'
import type { ToolCall } from '../answer/compose-answer.ts'
import { limitExceeded, RequestProblem } from '../http/request-problem.ts'
import { isObject, type JsonObject, numberOf, objectsOf, textOf } from '../json-value.ts'
import { builtInKinds, kindOfTool, remoteToolNames, type BuiltInCall, type BuiltInKind } from './tools.ts'

/** A tool that the answer may call, or calls. */
interface Candidate {
  readonly name: string
  readonly otherNames?: readonly string[]
  readonly tool: JsonObject
  readonly use: ToolCall | BuiltInKind
  readonly fails?: boolean
}

interface Situation {
  /** Without the words for the sandbox. */
  readonly prompt: string
  readonly words: Scenario['words']
  /** Whether the request ends with the output of a call, which the answer then quotes. */
  readonly hasOutput: boolean
}

/** Maximum number of calls of built-in tools in one response. */
const maxBuiltInCalls = 16

/**
 * The calls that `tool_choice`, the scenarios or the prompt ask for, within `max_tool_calls` and
 * `parallel_tool_calls`.
 * @throws RequestProblem 400 when the forced tool was not offered, or the calls are too many
 */
export function chosenCalls(body: JsonObject, situation: Situation) {
  const all = choose(body, situation)
  const chosen = body['parallel_tool_calls'] === false ? all.slice(0, 1) : all
  const calls: ToolCall[] = []
  const builtIn: BuiltInCall[] = []
  for (const { use, tool, fails = false } of chosen) {
    if (typeof use !== 'string') calls.push(use)
    else builtIn.push({ kind: use, tool, number: builtIn.filter(({ kind }) => kind === use).length, fails })
  }
  // Further attempts are ignored (specification, `max_tool_calls`).
  const made = builtIn.slice(0, numberOf(body['max_tool_calls']) ?? Infinity)
  if (made.length <= maxBuiltInCalls) return { calls, builtIn: made }
  throw limitExceeded(`The sandbox makes at most ${maxBuiltInCalls} calls of built-in tools in one response.`)
}

function choose({ tools, tool_choice: choice }: JsonObject, situation: Situation): readonly Candidate[] {
  const { words, hasOutput } = situation
  const offered = objectsOf(tools).flatMap(candidatesOf)
  const isRule = isObject(choice) && choice['type'] === 'allowed_tools'
  if (isObject(choice) && !isRule) return [forcedBy(choice, offered)]
  const mode = isRule ? choice['mode'] : choice
  const allowed = isRule
    ? offered.filter(({ tool }) => objectsOf(choice['tools']).some((named) => isSameTool(named, tool)))
    : offered
  const asked = words.flatMap(({ name, variant }) => askedTool(name, variant === 'failed', allowed))
  if (mode !== 'none' && !hasOutput && asked.length > 0) return asked
  if (mode === 'required' && offered.length === 0) {
    throw wrongChoice("Tool choice 'required' must be specified with 'tools' parameter.")
  }
  return chooseCalls(mode === 'none' || mode === 'required' ? mode : 'auto', allowed, situation)
}

function wrongChoice(message: string, code?: string): RequestProblem {
  return new RequestProblem(400, message, { param: 'tool_choice', ...(code !== undefined && { code }) })
}

function candidatesOf(tool: JsonObject): readonly Candidate[] {
  const name = textOf(tool['name'])
  if (tool['type'] === 'function') {
    return [{ name, tool, use: { name, parameters: tool['parameters'] ?? { type: 'object' } } }]
  }
  if (tool['type'] === 'custom') return [{ name, tool, use: { name, parameters: undefined, custom: true } }]
  const kind = kindOfTool(tool)
  if (kind === undefined) return []
  const remote = kind === 'mcp' ? [textOf(tool['server_label']), ...remoteToolNames(tool)] : []
  return [{ name: kind, otherNames: remote, tool, use: kind }]
}

/** The one tool that the choice names. */
function forcedBy(choice: JsonObject, offered: readonly Candidate[]): Candidate {
  const found = offered.find(({ tool }) => isSameTool(choice, tool))
  if (found === undefined) {
    const name = (textOf(choice['name']) || textOf(choice['type'])).slice(0, 100)
    throw wrongChoice(`Tool choice '${name}' not found in 'tools' parameter.`, 'invalid_value')
  }
  // The choice may name one tool of a remote server.
  const isRemote = found.use === 'mcp' && textOf(choice['name']) !== ''
  return isRemote ? { ...found, tool: { ...found.tool, name: choice['name'] } } : found
}

function isSameTool(choice: JsonObject, tool: JsonObject): boolean {
  const kind = kindOfTool(choice)
  if (kind === undefined) return choice['type'] === tool['type'] && choice['name'] === tool['name']
  const label = choice['server_label']
  return kind === kindOfTool(tool) && (label === undefined || label === tool['server_label'])
}

const cityParameters = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const screen = { display_width: 1024, display_height: 768, environment: 'browser' }
const server = { type: 'mcp', server_label: 'sandbox' }

/** Tools that a scenario may ask for without an offer in the request. */
export const usualTools: Readonly<Record<string, JsonObject>> = {
  ...Object.fromEntries(builtInKinds.map((type) => [type, { type }])),
  function: { type: 'function', name: 'get_weather', parameters: cityParameters },
  custom: { type: 'custom', name: 'take_note' },
  image_generation: { type: 'image_generation', partial_images: 1 },
  mcp: { ...server, require_approval: 'never' },
  approval: { ...server, require_approval: 'always' },
  computer: { type: 'computer_use_preview', ...screen },
}

/** The tool that the word of a scenario means: an offered one of its kind, or else the usual one. */
function askedTool(name: string, fails: boolean, offered: readonly Candidate[]): readonly Candidate[] {
  const usual = Object.hasOwn(usualTools, name) ? usualTools[name]! : undefined
  if (usual === undefined) return []
  const found = offered.find(({ tool, use }) => {
    return typeof use === 'string' ? use === kindOfTool(usual) : tool['type'] === usual['type']
  })
  const candidates = found === undefined ? candidatesOf(usual) : [found]
  const rule = name === 'approval' && { require_approval: 'always' }
  return candidates.map((candidate) => ({ ...candidate, tool: { ...candidate.tool, ...rule }, fails }))
}
