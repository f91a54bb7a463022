import { scenarioWords } from '../answer/answer.ts'
import { composeAnswer } from '../answer/compose-answer.ts'
import { type JsonObject, objectsOf } from '../json-value.ts'
import type { SandboxModel } from '../sandbox-models.ts'
import { scenarioHeader, type Exchange } from '../sandbox.ts'
import { seededHex } from '../seeded-random.ts'
import { builtInTools } from './built-in-tools.ts'
import { chosenCalls, type ChosenCalls, usualTools } from './choose-calls.ts'
import type { ComposedResponse } from './answer-items.ts'
import { opaque, output } from './output-item.ts'
import { lastOutputs, readRequest } from './read-request.ts'
import { followApprovals, listRemoteTools } from './remote-tools.ts'
import type { CallSetting, MadeCall } from './tool-call.ts'

/** Scenarios in which the model does not get as far as calling a tool. */
const callless = new Set<string | undefined>(['refusal', 'block', 'failure', 'empty'])

/**
 * Composes a response to the whole context. The same request gets the same one.
 * @throws RequestProblem
 */
export async function composeResponse(
  exchange: Exchange,
  items: readonly JsonObject[],
  { model, id }: { model: SandboxModel; id: string },
): Promise<ComposedResponse> {
  const { body } = exchange
  const read = readRequest(exchange, items, model)
  const header = scenarioHeader(exchange)
  const asked = scenarioWords(header, read.prompt)
  const isAsked = (name: string) => asked.some((word) => word.name === name)
  let ids = 0
  const newId = (prefix: string) => `${prefix}_${seededHex(48, id, prefix, ids++)}`
  const setting: CallSetting = { exchange, prompt: read.prompt, newId }
  const outputs = lastOutputs(items)
  const approvals = outputs.filter(({ type }) => type === 'mcp_approval_response')
  const situation = { prompt: read.prompt, asked, hasOutput: outputs.length > 0 }
  const chosen = approvals.length > 0 || callless.has(read.scenario) ? noCalls : chosenCalls(body, situation)
  const isListFailing = asked.some(({ name, variant }) => name === 'mcp_list_tools' && variant === 'failed')
  const servers = [...objectsOf(body['tools']), ...chosen.builtIn.map(({ tool }) => tool)]
  if (isAsked('mcp_list_tools') && servers.every(({ type }) => type !== 'mcp'))
    servers.push(usualTools['mcp']!)
  const lists = callless.has(read.scenario) ? [] : listRemoteTools(servers, items, isListFailing, setting)
  const made = [...followApprovals(approvals, items, setting)]
  for (const call of chosen.builtIn) {
    // A server that does not list its tools is not called.
    if (call.kind === 'mcp' && isListFailing) continue
    made.push(await builtInTools[call.kind].make(call, setting))
  }
  const { kept, left } = withinLimit(made, read.maxTokens)
  const findings = kept.flatMap(({ finding }) => finding ?? [])
  const answer = composeAnswer(
    {
      ...read,
      calls: chosen.calls,
      findings: findings.map(({ sentence }) => sentence),
      waits: kept.some(({ waits }) => waits),
      thinks: read.thinks || isAsked('reasoning'),
      maxTokens: left,
    },
    exchange,
  )
  const compaction = { type: 'compaction', encrypted_content: opaque(`compaction ${id}`) }
  return {
    answer: {
      ...answer,
      visibleTokens: answer.visibleTokens + tokensIn(kept),
      ...(kept.length < made.length && { ending: 'length' }),
    },
    prelude: [...(isAsked('compaction') ? [output({ id: newId('cmp'), ...compaction }, [])] : []), ...lists],
    builtIn: kept.flatMap((call) => call.outputs),
    findings,
    showsReasoning: isAsked('reasoning'),
  }
}

const noCalls: ChosenCalls = { calls: [], builtIn: [] }

function tokensIn(made: readonly MadeCall[]): number {
  return made.flatMap(({ outputs }) => outputs).reduce((sum, { tokens }) => sum + tokens.length, 0)
}

/** The calls that the token limit has room for, and how much it leaves for the rest. */
function withinLimit(made: readonly MadeCall[], maxTokens = Infinity) {
  let left = maxTokens
  const kept: MadeCall[] = []
  for (const call of made) {
    const tokens = tokensIn([call])
    if (tokens > left) return { kept, left: 0 }
    left -= tokens
    kept.push(call)
  }
  return { kept, left: maxTokens === Infinity ? undefined : left }
}
