import { countTokens } from '../answer/answer.ts'
import { mediaText } from '../answer/prompt-cache.ts'
import { isObject, objectOf, objectsOf, textOf, type JsonObject } from '../json-value.ts'

/** Tokens by modality: `TEXT`, `IMAGE`, `AUDIO`, `VIDEO`, `DOCUMENT`. */
type Counts = ReadonlyMap<string, number>

interface PromptTokens {
  /** What the model reads: system instruction, tools, then the messages. */
  readonly texts: readonly string[]
  readonly byModality: Counts
  readonly total: number
}

/** Tokens of everything the model reads: contents, system instruction, tool declarations. */
export function countPrompt(body: JsonObject): PromptTokens {
  const byModality = new Map([['TEXT', 0]])
  const texts: string[] = []
  const read = (modality: string, text: string) => {
    texts.push(text)
    byModality.set(modality, (byModality.get(modality) ?? 0) + countTokens(text))
  }
  if (body['tools'] !== undefined) read('TEXT', JSON.stringify(body['tools']))
  for (const content of [objectOf(body['systemInstruction']), ...objectsOf(body['contents'])]) {
    for (const part of objectsOf(content['parts'])) read(...readPart(part))
  }
  const total = [...byModality.values()].reduce((sum, tokens) => sum + tokens, 0)
  return { texts, byModality, total }
}

function readPart(part: JsonObject): [modality: string, text: string] {
  if (typeof part['text'] === 'string') return ['TEXT', part['text']]
  const media = part['inlineData'] ?? part['fileData']
  if (!isObject(media)) return ['TEXT', JSON.stringify(part)]
  const kind = textOf(media['mimeType']).split('/')[0]!.toUpperCase()
  const modality = ['IMAGE', 'AUDIO', 'VIDEO'].includes(kind) ? kind : 'DOCUMENT'
  return [modality, mediaText(Object.values(media))]
}

/** The counts as `promptTokensDetails` lists them. */
function tokenDetails(counts: Counts): JsonObject[] {
  return Array.from(counts, ([modality, tokenCount]) => ({ modality, tokenCount }))
}

export interface Spent {
  readonly prompt: PromptTokens
  /** Tokens of the prompt that were read from the cache. */
  readonly cached: number
  /** Tokens of what built-in tools found. */
  readonly tools: number
  readonly visible: number
  /** Tokens of images, which are part of the visible ones. */
  readonly images: number
  readonly thoughts: number
}

/** Token counts that add up: prompt, tools, visible and thought tokens are the total (wire notes, section 1). */
export function usageOf({ prompt, cached, tools, visible, images, thoughts }: Spent): JsonObject {
  const text = (tokenCount: number) => [{ modality: 'TEXT', tokenCount }]
  return {
    promptTokenCount: prompt.total,
    cachedContentTokenCount: cached,
    candidatesTokenCount: visible,
    totalTokenCount: prompt.total + tools + visible + thoughts,
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    promptTokensDetails: tokenDetails(prompt.byModality),
    ...(cached > 0 && { cacheTokensDetails: text(cached) }),
    ...(images > 0 && {
      candidatesTokensDetails: [...text(visible - images), { modality: 'IMAGE', tokenCount: images }],
    }),
    ...(tools > 0 && { toolUsePromptTokenCount: tools, toolUsePromptTokensDetails: text(tools) }),
  }
}
