import { chooseCalls, withoutScenarios, type ScenarioWord, type ToolCall } from '../answer/answer.ts'
import { limitExceeded, RequestProblem } from '../http/request-problem.ts'
import { isObject, type JsonObject, numberOf, objectsOf, textOf } from '../json-value.ts'
import { builtInTools, kindOfTool, type BuiltInKind } from './built-in-tools.ts'
import { remoteToolNames } from './remote-tools.ts'
import type { BuiltInCall } from './tool-call.ts'

/** A tool that the answer may call, or calls. */
interface Candidate {
  readonly name: string
  readonly otherNames?: readonly string[]
  readonly tool: JsonObject
  readonly use: ToolCall | BuiltInKind
  readonly fails?: boolean
}

export interface ChosenCalls {
  /** Of functions and custom tools. */
  readonly calls: readonly ToolCall[]
  readonly builtIn: readonly (BuiltInCall & { readonly kind: BuiltInKind })[]
}

interface Situation {
  readonly prompt: string
  /** The scenarios that the header or the prompt name. */
  readonly asked: readonly ScenarioWord[]
  /** Whether the request ends with the output of a call, which the answer then quotes. */
  readonly hasOutput: boolean
}

/**
 * The calls that `tool_choice`, the scenarios or the prompt ask for, within `max_tool_calls` and
 * `parallel_tool_calls`.
 * @throws RequestProblem 400 when the forced tool was not offered
 */
export function chosenCalls(body: JsonObject, situation: Situation): ChosenCalls {
  const { max_tool_calls: max, parallel_tool_calls: parallel } = body
  const chosen = parallel === false ? choose(body, situation).slice(0, 1) : choose(body, situation)
  const calls = chosen.flatMap(({ use }) => (typeof use === 'string' ? [] : [use]))
  const counts = new Map<BuiltInKind, number>()
  const builtIn = chosen.flatMap(({ use: kind, tool, fails = false }) => {
    if (typeof kind !== 'string') return []
    const number = counts.get(kind) ?? 0
    counts.set(kind, number + 1)
    return [{ kind, tool, number, fails }]
  })
  // Further attempts are ignored (specification, `max_tool_calls`).
  const made = builtIn.slice(0, numberOf(max) ?? Infinity)
  if (made.length > maxBuiltInCalls)
    throw limitExceeded(
      `The sandbox makes at most ${maxBuiltInCalls} calls of built-in tools in one response.`,
    )
  return { calls, builtIn: made }
}

/** Maximum number of calls of built-in tools in one response. */
const maxBuiltInCalls = 16

function choose({ tools, tool_choice: choice }: JsonObject, situation: Situation): readonly Candidate[] {
  const { asked, hasOutput } = situation
  const offered = objectsOf(tools).flatMap(candidatesOf)
  const forced =
    isObject(choice) && choice['type'] !== 'allowed_tools' ? forcedBy(choice, offered) : undefined
  if (forced !== undefined) return [forced]
  const mode = isObject(choice) ? choice['mode'] : choice
  const allowed = isObject(choice) ? allowedBy(objectsOf(choice['tools']), offered) : offered
  const asWords = asked.flatMap(({ name, variant }) => askedTool(name, variant === 'failed', allowed))
  if (mode !== 'none' && !hasOutput && asWords.length > 0) return asWords
  if (mode === 'required' && offered.length === 0) {
    throw new RequestProblem(400, "Tool choice 'required' must be specified with 'tools' parameter.", {
      param: 'tool_choice',
    })
  }
  const prompt = withoutScenarios(situation.prompt)
  const known = mode === 'none' || mode === 'required' ? mode : 'auto'
  return chooseCalls(known, allowed, { prompt, hasOutput })
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
    const name = textOf(choice['name']) || textOf(choice['type'])
    throw new RequestProblem(400, `Tool choice '${name.slice(0, 100)}' not found in 'tools' parameter.`, {
      param: 'tool_choice',
      code: 'invalid_value',
    })
  }
  // The choice may name one tool of a remote server.
  const isRemote = found.use === 'mcp' && textOf(choice['name']) !== ''
  return isRemote ? { ...found, tool: { ...found.tool, name: choice['name'] } } : found
}

function allowedBy(choices: readonly JsonObject[], offered: readonly Candidate[]): readonly Candidate[] {
  return offered.filter(({ tool }) => choices.some((choice) => isSameTool(choice, tool)))
}

function isSameTool(choice: JsonObject, tool: JsonObject): boolean {
  const kind = kindOfTool(choice)
  if (kind === undefined) return choice['type'] === tool['type'] && choice['name'] === tool['name']
  const label = choice['server_label']
  return kind === kindOfTool(tool) && (label === undefined || label === tool['server_label'])
}

/** Tools that a scenario may ask for without an offer in the request. */
export const usualTools: Readonly<Record<string, JsonObject>> = {
  function: { type: 'function', name: 'get_weather', parameters: citySchema() },
  custom: { type: 'custom', name: 'take_note' },
  image_generation: { type: 'image_generation', partial_images: 1 },
  mcp: { type: 'mcp', server_label: 'sandbox', require_approval: 'never' },
  approval: { type: 'mcp', server_label: 'sandbox', require_approval: 'always' },
  computer: {
    type: 'computer_use_preview',
    display_width: 1024,
    display_height: 768,
    environment: 'browser',
  },
  shell: { type: 'shell', environment: { type: 'container_auto' } },
}

function citySchema(): JsonObject {
  return {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  }
}

/** The tool that the word of a scenario means: an offered one of its kind, or else the usual one. */
function askedTool(name: string, fails: boolean, offered: readonly Candidate[]): readonly Candidate[] {
  const isKnown = name in builtInTools || name in usualTools
  if (!isKnown) return []
  const usual = usualTools[name] ?? { type: name }
  const found = offered.find(({ tool, use }) => {
    return typeof use === 'string' ? use === kindOfTool(usual) : tool['type'] === usual['type']
  })
  const isApproval = name === 'approval'
  const [candidate] = found === undefined ? candidatesOf(usual) : [found]
  if (candidate === undefined) return []
  const tool = isApproval ? { ...candidate.tool, require_approval: 'always' } : candidate.tool
  return [{ ...candidate, tool, fails }]
}
