import type { PlannedCall, Question } from '../answer/answer.ts'
import { isNamed, scenarioOf } from '../answer/scenario.ts'
import type { JsonObject } from '../json-value.ts'
import { listOf, numberOf, objectOf, objectsOf, textOf, textsOf } from '../json-value.ts'
import type { Budget } from '../budget.ts'
import type { SandboxModel } from '../models.ts'
import { scenarioHeader } from '../request.ts'
import type { SandboxRequest } from '../request.ts'

/** What a content-generation request asks for (specification, endpoint 1; inner shapes from wire facts, section 1). */
export function readQuestion(request: SandboxRequest, model: SandboxModel, seed: number): Question {
  const { body, budget } = request
  const config = objectOf(body['generationConfig'])
  const last = objectOf(listOf(body['contents']).at(-1))
  const prompt = textIn(last)
  const mime = textOf(config['responseMimeType'])
  const schema = config['responseSchema'] ?? config['responseJsonSchema'] ?? config['_responseJsonSchema']
  const isJson = mime === 'application/json' || (mime === '' && schema !== undefined)
  const thinking = objectOf(config['thinkingConfig'])
  const toolOutputs = objectsOf(last['parts'])
    .map((part) => part['functionResponse'])
    .filter((response) => response !== undefined)
  return {
    seed: [seed, model.id, numberOf(config['seed']) ?? 0],
    prompt,
    scenario: scenarioOf(scenarioHeader(request), prompt, model.scenario),
    format: mime === 'text/x.enum' ? 'enum' : isJson ? 'json' : 'text',
    schema,
    calls: callsOf(body, prompt, toolOutputs.length > 0, budget),
    toolOutputs: toolOutputs.map((response) => JSON.stringify(objectOf(response)['response'] ?? null)),
    thinks: thinks(thinking),
    wantsImage: textsOf(config['responseModalities']).some((kind) => kind.toUpperCase() === 'IMAGE'),
    maxTokens: numberOf(config['maxOutputTokens']),
    stopSequences: textsOf(config['stopSequences']),
  }
}

/** The texts of a `Content`, a paragraph for each part. */
function textIn(content: JsonObject): string {
  return objectsOf(content['parts'])
    .map((part) => textOf(part['text']))
    .filter((text) => text !== '')
    .join('\n')
}

function thinks(config: JsonObject): boolean {
  if (config['thinkingBudget'] === 0) return false
  return (
    config['includeThoughts'] === true ||
    config['thinkingBudget'] !== undefined ||
    config['thinkingLevel'] !== undefined
  )
}

/** A function is called when the mode is ANY, or when the prompt names it and no answer of a function came along. */
function callsOf(body: JsonObject, prompt: string, hasOutput: boolean, budget: Budget): PlannedCall[] {
  const config = objectOf(objectOf(body['toolConfig'])['functionCallingConfig'])
  const mode = textOf(config['mode']).toUpperCase()
  if (mode === 'NONE') return []
  const allowed = new Set(textsOf(config['allowedFunctionNames']))
  const declared = objectsOf(body['tools'])
    .flatMap((tool) => objectsOf(tool['functionDeclarations']))
    .filter((declaration) => textOf(declaration['name']) !== '')
    .map((declaration) => ({
      name: textOf(declaration['name']),
      parameters: declaration['parameters'] ?? declaration['parametersJsonSchema'] ?? { type: 'object' },
    }))
    .filter(({ name }) => allowed.size === 0 || allowed.has(name))
  const named = declared.filter(({ name }) => isNamed(name, prompt, budget))
  if (mode === 'ANY') return named.length > 0 ? named : declared.slice(0, 1)
  return hasOutput ? [] : named
}
