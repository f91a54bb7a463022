import type { Question } from '../answer/answer.ts'
import { scenarioOf } from '../answer/scenario.ts'
import type { JsonObject } from '../json-value.ts'
import { numberOf, objectOf, textOf } from '../json-value.ts'
import type { SandboxModel } from '../models.ts'
import { scenarioHeader } from '../request.ts'
import type { SandboxRequest } from '../request.ts'
import { chooseCalls } from './choose-calls.ts'
import { isToolOutput, textInItem } from './items.ts'

/**
 * What a request to create a response asks for.
 * @param items the whole context: the conversation so far and the input
 */
export function readQuestion(
  request: SandboxRequest,
  items: readonly JsonObject[],
  model: SandboxModel,
  seed: number,
): Question {
  const { body, budget } = request
  const prompt = textInItem(items.findLast((item) => item['role'] === 'user') ?? {})
  const outputs = trailingOutputs(items)
  const format = objectOf(objectOf(body['text'])['format'])
  const kind = textOf(format['type'])
  return {
    seed: [seed, model.id],
    prompt,
    scenario: scenarioOf(scenarioHeader(request), prompt, model.scenario),
    format: kind === 'json_schema' || kind === 'json_object' ? 'json' : 'text',
    schema: kind === 'json_schema' ? format['schema'] : undefined,
    calls: chooseCalls(body, prompt, outputs.length > 0, budget),
    toolOutputs: outputs.map(({ output }) =>
      typeof output === 'string' ? output : JSON.stringify(output ?? null),
    ),
    thinks: thinks(objectOf(body['reasoning'])),
    wantsImage: false,
    maxTokens: numberOf(body['max_output_tokens']),
    stopSequences: [],
  }
}

function trailingOutputs(items: readonly JsonObject[]): readonly JsonObject[] {
  return items.slice(items.findLastIndex((item) => !isToolOutput(item)) + 1)
}

function thinks({ effort, summary }: JsonObject): boolean {
  return typeof summary === 'string' || (typeof effort === 'string' && effort !== 'none')
}
