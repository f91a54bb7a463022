import { countTokens, queryOf } from '../answer/answer.ts'
import type { ToolCall } from '../answer/compose-answer.ts'
import { objectOf, objectsOf, textOf, textsOf, type JsonObject } from '../json-value.ts'
import { seededHex } from '../seeded-random.ts'

interface Situation {
  readonly prompt: string
  /** What the request names, each with its variant: `sandbox:googleSearch:failed`. */
  readonly asked: ReadonlyMap<string, string | undefined>
  readonly mode: 'none' | 'auto' | 'required'
  /** Whether the request ends with a function's output. */
  readonly hasOutput: boolean
}

/** What a tool found, in the fields of a candidate. */
interface Found {
  /** Parts before the text. */
  readonly parts?: readonly JsonObject[]
  /** Entries of `groundingChunks`. */
  readonly sources?: readonly JsonObject[]
  /** Of `groundingMetadata`. */
  readonly grounding?: JsonObject
  readonly metadata?: JsonObject
}

type BuiltInTool = (options: JsonObject, query: string, variant: string | undefined) => Found

const tools: Readonly<Record<string, BuiltInTool>> = {
  googleSearch: searchWeb,
  enterpriseWebSearch: searchWeb,
  googleSearchRetrieval: retrieve,
  googleMaps: searchMaps,
  fileSearch: searchFiles,
  urlContext: readUrls,
  codeExecution: runCode,
}

/**
 * A built-in tool that is offered is used; where the prompt names some of them (`sandbox:codeExecution`), only those. An
 * address is read if the prompt has one. A computer is used until the caller has told what came of it.
 */
export function useTools(body: JsonObject, { prompt, asked, mode, hasOutput }: Situation) {
  const offered = objectsOf(body['tools']).flatMap((tool) => Object.entries(tool))
  const named = offered.filter(([name]) => asked.has(name))
  const used = new Map(named.length === 0 ? offered : named)
  const query = queryOf(prompt)
  const isShown = objectOf(body['toolConfig'])['includeServerSideToolInvocations'] === true
  const found = Array.from(used, ([name, options]): Found => {
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined
    const result = tool?.(objectOf(options), name === 'urlContext' ? prompt : query, asked.get(name)) ?? {}
    return isShown
      ? { ...result, parts: [...invocationOf(name, query, result), ...(result.parts ?? [])] }
      : result
  })
  const isTurnOfModel = mode !== 'none' && !hasOutput
  const servers = isTurnOfModel ? objectsOf(new Map(offered).get('mcpServers')) : []
  const sources = found.flatMap((result) => result.sources ?? [])
  const grounding = Object.assign({}, ...found.map((result) => result.grounding)) as JsonObject
  const isGrounded = found.some((result) => result.grounding !== undefined || result.sources !== undefined)
  return {
    /** Parts before the text: code that ran, calls of tools that the sandbox answered. */
    parts: [...found.flatMap((result) => result.parts ?? []), ...remoteCalls(servers, query)],
    /** Functions of a computer, which the caller carries out. */
    calls:
      isTurnOfModel && used.has('computerUse')
        ? computerCalls(objectOf(used.get('computerUse')), prompt)
        : [],
    /** Tokens of what the tools found, which the model reads. */
    tokens: sources.length === 0 ? 0 : countTokens(JSON.stringify(sources)),
    /** The fields of a candidate that tell what the tools found; `partIndex` is that of the text among the parts. */
    metadata: (text: string, partIndex: number): JsonObject => ({
      ...(isGrounded && { groundingMetadata: { ...groundingOf(text, sources, partIndex), ...grounding } }),
      ...Object.assign({}, ...found.map((result) => result.metadata)),
    }),
  }
}

export type ToolUse = ReturnType<typeof useTools>

/** Maximum number of sentences that are said to come from somewhere, and of characters that are searched for them. */
const maxSegments = 4
const searchedCharacters = 4000

/** The sentences behind the quoted prompt, which no source stands for; the indices are bytes of UTF-8 (public practice). */
function segmentsOf(text: string) {
  const found = [...text.slice(0, searchedCharacters).matchAll(/[^\s.!?][^.!?]*[.!?]+/g)]
  return (found.length > 1 ? found.slice(1) : found).slice(0, maxSegments).map((match) => {
    const [sentence] = match
    const startIndex = Buffer.byteLength(text.slice(0, match.index))
    return { startIndex, endIndex: startIndex + Buffer.byteLength(sentence), text: sentence }
  })
}

/** What grounds a text: the sources, and the sentences that each supports. */
function groundingOf(text: string, sources: readonly JsonObject[], partIndex: number): JsonObject {
  if (sources.length === 0) return {}
  const groundingSupports = segmentsOf(text).map((segment, index) => ({
    segment: { ...(partIndex > 0 && { partIndex }), ...segment },
    groundingChunkIndices: [index % sources.length],
    confidenceScores: [0.9],
  }))
  return { groundingChunks: sources, groundingSupports }
}

const licences = ['mit', 'apache-2.0', 'cc-by-4.0']

/** The sentences of a text as quotations, each with its address and licence (specification, content-generation chunk). */
export function citationsOf(text: string): JsonObject {
  const citationSources = segmentsOf(text).map(({ startIndex, endIndex }, index) => ({
    startIndex,
    endIndex,
    uri: `https://www.example.com/source/${index + 1}`,
    license: licences[index % licences.length],
  }))
  return { citationMetadata: { citationSources } }
}

/** Two pages that the documentation domains have for everything. */
const pages = ['com', 'org'].map((domain, index) => ({
  web: { uri: `https://www.example.${domain}/sandbox/${index + 1}`, title: `example.${domain}` },
}))

function searchWeb(_: JsonObject, query: string, variant: string | undefined): Found {
  if (variant === 'failed') return { grounding: { webSearchQueries: [query] } }
  const chip = `<a class="chip" href="https://www.example.com/search?q=${encodeURIComponent(query)}">`
  const renderedContent = `<div class="container">${chip}${escapeHtml(query)}</a></div>`
  return { sources: pages, grounding: { webSearchQueries: [query], searchEntryPoint: { renderedContent } } }
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`)
}

/** How sure the sandbox is that a search helps. */
const retrievalScore = 0.75

function retrieve(options: JsonObject, query: string, variant: string | undefined): Found {
  const { mode, dynamicThreshold: threshold } = objectOf(options['dynamicRetrievalConfig'])
  const retrievalMetadata = { googleSearchDynamicRetrievalScore: retrievalScore }
  const isSkipped = mode === 'MODE_DYNAMIC' && typeof threshold === 'number' && threshold > retrievalScore
  if (isSkipped) return { grounding: { retrievalMetadata } }
  const { sources = [], grounding } = searchWeb(options, query, variant)
  return { sources, grounding: { ...grounding, retrievalMetadata } }
}

function searchMaps({ enableWidget }: JsonObject, _: string, variant: string | undefined): Found {
  const widget = enableWidget === true ? { googleMapsWidgetContextToken: 'widgetcontent/sandbox' } : {}
  if (variant === 'failed') return { grounding: widget }
  const places = ['Sandbox Café', 'Sandbox Station'].map((title, index) => ({
    maps: {
      uri: `https://maps.example.com/?cid=${index + 1}`,
      title,
      placeId: `places/sandbox-${index + 1}`,
      text: `${title} is open every day.`,
    },
  }))
  return { sources: places, grounding: widget }
}

function searchFiles(options: JsonObject, query: string, variant: string | undefined): Found {
  const [fileSearchStore = 'fileSearchStores/sandbox'] = textsOf(options['fileSearchStoreNames'])
  if (variant === 'failed') return { grounding: { retrievalQueries: [query] } }
  const text = 'The sandbox keeps this passage for every store.'
  const sources = [{ retrievedContext: { title: 'notes.txt', text, fileSearchStore } }]
  return { sources, grounding: { retrievalQueries: [query] } }
}

/** Maximum number of addresses that are read, as in public practice. */
const maxUrls = 20
const retrievalStatuses: Readonly<Record<string, string>> = {
  failed: 'ERROR',
  paywall: 'PAYWALL',
  unsafe: 'UNSAFE',
}

function readUrls(_: JsonObject, prompt: string, variant = ''): Found {
  const urls = new Set<string>()
  for (const [url] of prompt.matchAll(/https?:\/\/[^\s"'<>]{1,500}/g)) {
    if (urls.size < maxUrls) urls.add(url.replace(/[).,;!?]+$/, ''))
  }
  if (urls.size === 0) return {}
  const read = [...urls]
  const status = retrievalStatuses[variant] ?? 'SUCCESS'
  const urlMetadata = read.map((retrievedUrl) => ({
    retrievedUrl,
    urlRetrievalStatus: `URL_RETRIEVAL_STATUS_${status}`,
  }))
  const hostOf = (url: string) => URL.parse(url)?.hostname ?? url
  const sources = read.map((uri) => ({ web: { uri, title: hostOf(uri) } }))
  return {
    ...(status === 'SUCCESS' ? { sources } : { grounding: {} }),
    metadata: { urlContextMetadata: { urlMetadata } },
  }
}

const outcomes: Readonly<Record<string, readonly [code: string, outcome: string, output: string]>> = {
  '': ['print(sum(range(1, 11)))', 'OUTCOME_OK', '55\n'],
  failed: ['print(1 / 0)', 'OUTCOME_FAILED', 'ZeroDivisionError: division by zero\n'],
  deadline: ['while True: pass', 'OUTCOME_DEADLINE_EXCEEDED', ''],
}

function runCode(_: JsonObject, query: string, variant = ''): Found {
  const [code, outcome, output] = outcomes[variant] ?? outcomes['']!
  const id = seededHex(8, 'code', query)
  const result = { outcome, ...(output !== '' && { output }), id }
  return { parts: [{ executableCode: { language: 'PYTHON', code, id } }, { codeExecutionResult: result }] }
}

const invocationTypes: Readonly<Record<string, string>> = {
  googleSearch: 'GOOGLE_SEARCH_WEB',
  googleMaps: 'GOOGLE_MAPS',
  fileSearch: 'FILE_SEARCH',
  urlContext: 'URL_CONTEXT',
}

/** The call of a tool and its response, as parts: `toolConfig.includeServerSideToolInvocations`. */
function invocationOf(name: string, query: string, { sources = [] }: Found): JsonObject[] {
  const toolType = Object.hasOwn(invocationTypes, name) ? invocationTypes[name] : undefined
  if (toolType === undefined) return []
  const id = `tool_${seededHex(12, name, query)}`
  return [
    { toolCall: { id, toolType, args: { queries: [query] } } },
    { toolResponse: { id, toolType, response: { sources } } },
  ]
}

/** One call of each remote server, and what it answered: the caller has nothing to do. */
function remoteCalls(servers: readonly JsonObject[], query: string): JsonObject[] {
  return servers.flatMap((server, index) => {
    const name = `${textOf(server['name']) || 'server'}_look_up`
    const id = `call_${seededHex(12, 'remote', name, index)}`
    const content = [{ type: 'text', text: '[sandbox] The remote server has nothing to add.' }]
    return [
      { functionCall: { id, name, args: { query } } },
      { functionResponse: { id, name, response: { content } } },
    ]
  })
}

const point = { type: 'integer', minimum: 0, maximum: 999 }
/** Functions of a computer in public use; places are in thousandths of the screen. */
const computerFunctions: readonly (readonly [name: string, properties: JsonObject])[] = [
  ['open_web_browser', {}],
  ['navigate', { url: { type: 'string', const: 'https://www.example.com/' } }],
  ['click_at', { x: point, y: point }],
  ['hover_at', { x: point, y: point }],
  ['type_text_at', { x: point, y: point, text: { type: 'string', const: 'sandbox' } }],
  ['scroll_document', { direction: { type: 'string', enum: ['up', 'down'] } }],
  ['key_combination', { keys: { type: 'string', const: 'Control+A' } }],
  ['wait_5_seconds', {}],
  ['go_back', {}],
]

/** The functions that the prompt names, or the first that is not excluded. */
function computerCalls({ excludedPredefinedFunctions }: JsonObject, prompt: string): ToolCall[] {
  const excluded = textsOf(excludedPredefinedFunctions)
  const available = computerFunctions
    .filter(([name]) => !excluded.includes(name))
    .map(([name, properties]) => ({
      name,
      parameters: { type: 'object', properties, required: Object.keys(properties) },
    }))
  const named = available.filter(({ name }) => prompt.includes(name))
  return named.length > 0 ? named : available.slice(0, 1)
}
