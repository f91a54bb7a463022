import { tokensOf, withoutScenarios } from '../answer/answer.ts'
import { invalidField } from '../http/request-problem.ts'
import { isObject, type JsonObject, objectOf, objectsOf, textOf, textsOf } from '../json-value.ts'
import { output, type OutputItem } from './output-item.ts'
import { queryOf, type BuiltInCall, type CallSetting, type MadeCall } from './tool-call.ts'

/** The tools of a server that the request does not name any of. */
const usualNames = ['search', 'fetch']

/** The tools of a remote server that the request allows. */
export function remoteToolNames({ allowed_tools: allowed }: JsonObject): readonly string[] {
  const names = textsOf(isObject(allowed) ? allowed['tool_names'] : allowed)
  return names.length > 0 ? names : usualNames
}

/**
 * The lists of the tools of all offered servers. A list that is part of the context already is not made again.
 * @param failing whether the servers do not answer
 */
export function listRemoteTools(
  tools: readonly JsonObject[],
  context: readonly JsonObject[],
  failing: boolean,
  { newId }: CallSetting,
): readonly OutputItem[] {
  const known = new Set(context.filter(({ type }) => type === 'mcp_list_tools').map(labelOf))
  const servers = new Map(tools.filter(({ type }) => type === 'mcp').map((tool) => [labelOf(tool), tool]))
  return [...servers.values()]
    .filter((tool) => !known.has(labelOf(tool)))
    .map((tool) => {
      const names = remoteToolNames(tool)
      const list = names.map((name) => ({
        name,
        description: `The tool ${name} of a server that the sandbox makes up.`,
        input_schema: {
          type: 'object',
          properties: { query: { type: 'string' } },
          required: ['query'],
          additionalProperties: false,
        },
        annotations: { read_only: true },
      }))
      const item = { id: newId('mcpl'), type: 'mcp_list_tools', server_label: labelOf(tool) }
      const state = failing ? { tools: [], error: '[sandbox] The server does not answer.' } : { tools: list }
      return output({ ...item, ...state }, [])
    })
}

function labelOf({ server_label: label }: JsonObject): string {
  return textOf(label)
}

/** A call of a remote tool, or the request to approve it. */
export function callRemoteTool({ tool, fails }: BuiltInCall, setting: CallSetting): MadeCall {
  const prompt = withoutScenarios(setting.prompt)
  const names = remoteToolNames(tool)
  const name = textOf(tool['name']) || (names.find((known) => prompt.includes(known)) ?? names[0]!)
  const call = { server_label: labelOf(tool), name, arguments: JSON.stringify({ query: queryOf(setting) }) }
  if (!needsApproval(tool, name)) return makeCall(call, fails, setting)
  const item = { id: setting.newId('mcpr'), type: 'mcp_approval_request', ...call }
  return { outputs: [output(item, tokensOf(call.arguments))], waits: true }
}

/** Approval is required unless the request says otherwise (public practice). */
function needsApproval({ require_approval: rule = 'always' }: JsonObject, name: string): boolean {
  if (!isObject(rule)) return rule !== 'never'
  const lists = (list: string) => textsOf(objectOf(rule[list])['tool_names']).includes(name)
  return !lists('never') && (rule['always'] === undefined || lists('always'))
}

function makeCall(
  call: { readonly server_label: string; readonly name: string; readonly arguments: string },
  fails: boolean,
  setting: CallSetting,
  approvalRequestId: string | null = null,
): MadeCall {
  const text = `[sandbox] Result of ${call.name}.`
  const error = {
    type: 'mcp_tool_execution_error',
    content: [{ type: 'text', text: `${call.name} failed.` }],
  }
  const item = {
    id: setting.newId('mcp'),
    type: 'mcp_call',
    status: fails ? 'failed' : 'completed',
    approval_request_id: approvalRequestId,
    ...call,
    output: fails ? null : text,
    error: fails ? error : null,
  }
  const sentence = fails
    ? `[sandbox] The tool ${call.name} failed.`
    : `The tool ${call.name} answered: ${text}`
  return {
    outputs: [output(item, tokensOf(call.arguments))],
    finding: { sentence },
  }
}

/**
 * What follows from the caller's answers to requests for approval: the call, or a sentence that it was not made.
 * @param responses the answers at the end of the input
 * @param context all items before
 * @throws RequestProblem 400 for a request that the context does not contain
 */
export function followApprovals(
  responses: readonly JsonObject[],
  context: readonly JsonObject[],
  setting: CallSetting,
): readonly MadeCall[] {
  return responses.map(({ approval_request_id: id, approve }): MadeCall => {
    const request = objectsOf(context).find(
      (item) => item['type'] === 'mcp_approval_request' && item['id'] === id,
    )
    if (request === undefined) {
      throw invalidField('input', `no request for approval has the id ${JSON.stringify(id)}`)
    }
    const [name, text] = [textOf(request['name']), textOf(request['arguments'])]
    if (approve !== true) {
      return {
        outputs: [],
        finding: { sentence: `The call of ${name} was not approved, so it was not made.` },
      }
    }
    return makeCall({ server_label: labelOf(request), name, arguments: text }, false, setting, textOf(id))
  })
}
