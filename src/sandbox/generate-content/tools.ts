import { countTokens, queryOf, type Scenario } from '../answer/answer.ts'
import { objectOf, objectsOf, textsOf, type JsonObject } from '../json-value.ts'
import { seededHex } from '../seeded-random.ts'

/** What a tool leads to, in the fields of a candidate. */
interface Found {
  /** Before the text. */
  readonly parts?: readonly JsonObject[]
  /** Where the tool does not fail. */
  readonly sources?: readonly JsonObject[]
  readonly grounding?: JsonObject
  readonly metadata?: JsonObject
}

interface ToolUse {
  readonly options: JsonObject
  readonly prompt: string
  readonly query: string
  readonly fails: boolean
}

const pages = ['com', 'org'].map((domain, index) => ({
  web: { uri: `https://www.example.${domain}/sandbox/${index + 1}`, title: `example.${domain}` },
}))

const places = ['Sandbox Café', 'Sandbox Station'].map((title, index) => ({
  maps: {
    uri: `https://maps.example.com/?cid=${index + 1}`,
    title,
    placeId: `places/sandbox-${index + 1}`,
    text: `${title} is open every day.`,
  },
}))

/** Maximum number of addresses that are read, as in public practice. */
const maxUrls = 20

const tools: Readonly<Record<string, (use: ToolUse) => Found>> = {
  googleSearch({ query, fails }) {
    const chip = `<a class="chip" href="https://www.example.com/search?q=${encodeURIComponent(query)}">`
    const renderedContent = `<div class="container">${chip}${escapeHtml(query)}</a></div>`
    const grounding = { webSearchQueries: [query], ...(!fails && { searchEntryPoint: { renderedContent } }) }
    return { grounding, sources: pages }
  },
  googleMaps: () => ({ sources: places }),
  fileSearch({ options, query }) {
    const [fileSearchStore = 'fileSearchStores/sandbox'] = textsOf(options['fileSearchStoreNames'])
    const text = 'The sandbox keeps this passage for every store.'
    const sources = [{ retrievedContext: { title: 'notes.txt', text, fileSearchStore } }]
    return { grounding: { retrievalQueries: [query] }, sources }
  },
  /** An address is read if the prompt has one. */
  urlContext({ prompt, fails }) {
    const found = prompt
      .matchAll(/https?:\/\/[^\s"'<>]{1,500}/g)
      .map(([url]) => url.replace(/[).,;!?]+$/, ''))
    const urls = [...new Set(found)].slice(0, maxUrls)
    if (urls.length === 0) return {}
    const urlRetrievalStatus = `URL_RETRIEVAL_STATUS_${fails ? 'ERROR' : 'SUCCESS'}`
    const urlMetadata = urls.map((retrievedUrl) => ({ retrievedUrl, urlRetrievalStatus }))
    const sources = urls.map((uri) => ({ web: { uri, title: URL.parse(uri)?.hostname ?? uri } }))
    return { sources, metadata: { urlContextMetadata: { urlMetadata } } }
  },
  codeExecution({ query, fails }) {
    const [code, outcome, output] = fails
      ? ['print(1 / 0)', 'OUTCOME_FAILED', 'ZeroDivisionError: division by zero\n']
      : ['print(sum(range(1, 11)))', 'OUTCOME_OK', '55\n']
    const id = seededHex(8, 'code', query)
    const executableCode = { language: 'PYTHON', code, id }
    return { parts: [{ executableCode }, { codeExecutionResult: { outcome, output, id } }] }
  },
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`)
}

/** Uses the built-in tools that are offered; where the prompt names some of them, only those. */
export function useTools(body: JsonObject, prompt: string, words: Scenario['words']) {
  const variants = new Map(words.map(({ name, variant }) => [name, variant]))
  const offered = objectsOf(body['tools']).flatMap((tool) => Object.entries(tool))
  const named = offered.filter(([name]) => variants.has(name))
  const used = new Map(named.length === 0 ? offered : named)
  const query = queryOf(prompt)
  const found = Array.from(used, ([name, options]) => {
    const fails = variants.get(name) === 'failed'
    const result = Object.hasOwn(tools, name)
      ? tools[name]!({ options: objectOf(options), prompt, query, fails })
      : {}
    const isGrounded = (result.grounding ?? result.sources) !== undefined
    return { ...result, isGrounded, sources: fails ? [] : (result.sources ?? []) }
  })
  const sources = found.flatMap((result) => result.sources)
  const grounding = Object.assign({}, ...found.map((result) => result.grounding)) as JsonObject
  const metadata = Object.assign({}, ...found.map((result) => result.metadata)) as JsonObject
  return {
    parts: found.flatMap(({ parts }) => parts ?? []),
    /** Of what the tools found, which the model reads. */
    tokens: sources.length === 0 ? 0 : countTokens(JSON.stringify(sources)),
    /** The fields of a candidate with what the tools found; `partIndex` is that of the text among the parts. */
    metadata(text: string, partIndex: number): JsonObject {
      if (found.every(({ isGrounded }) => !isGrounded)) return metadata
      return { groundingMetadata: { ...groundingOf(text, sources, partIndex), ...grounding }, ...metadata }
    },
  }
}

/** Maximum number of sentences that are said to come from somewhere, and of characters that are searched for them. */
const [maxSegments, searchedCharacters] = [4, 4000]

/** The sentences after the quoted prompt, which no source stands for; the indices are bytes of UTF-8 (public practice). */
function segmentsOf(text: string) {
  const found = [...text.slice(0, searchedCharacters).matchAll(/[^\s.!?][^.!?]*[.!?]+/g)]
  return (found.length > 1 ? found.slice(1) : found).slice(0, maxSegments).map((match) => {
    const [sentence] = match
    const startIndex = Buffer.byteLength(text.slice(0, match.index))
    return { startIndex, endIndex: startIndex + Buffer.byteLength(sentence), text: sentence }
  })
}

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
