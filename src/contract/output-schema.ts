import { finishReasons } from './text-event.ts'
import { outputVersion } from './output-event.ts'
import type { Candidate, Citation, SavedFile, TextDocument, ToolCall, Usage } from './text-event.ts'
import type { ErrorDocument, OutputEvent } from './output-event.ts'
import type { ImageEvent } from './image-event.ts'
import type { VideoEvent } from './video-event.ts'
import { imageDefinitions, imageDocumentProperties, imageEventFields } from './image-schema.ts'
import {
  anything,
  count,
  countOrNull,
  list,
  object,
  savedFileFields,
  text,
  textOrNull,
  type JsonSchema,
} from './json-schema.ts'
import {
  jobListProperties,
  videoDefinitions,
  videoDocumentProperties,
  videoEventFields,
} from './video-schema.ts'

export type { JsonSchema }

const reference = (name: keyof typeof definitions): JsonSchema => ({ $ref: `#/$defs/${name}` })

const definitions = {
  usage: object<Usage>({
    input_tokens: countOrNull('tokens of the input'),
    cached_tokens: countOrNull('of them read from a cache'),
    output_tokens: countOrNull('tokens of the output, reasoning included'),
    reasoning_tokens: countOrNull('of them spent on reasoning'),
    total_tokens: countOrNull('all tokens'),
  }),
  tool_call: object<ToolCall>({
    id: textOrNull('id that the result of the call must name'),
    name: text('name of the tool'),
    arguments: anything('the arguments as JSON; the text as it came when it is not JSON'),
  }),
  citation: object<Citation>({
    url: textOrNull('address of the source'),
    title: textOrNull('title of the source'),
    start: countOrNull("start in the text, in the gateway's own counting"),
    end: countOrNull("end in the text, in the gateway's own counting"),
  }),
  candidate: object<Candidate>({
    index: count('number of the candidate'),
    text: text('its text'),
    finish_reason: { enum: finishReasons, description: 'why it ended' },
  }),
  file: object<SavedFile>({
    ...savedFileFields,
  }),
  ...imageDefinitions,
  ...videoDefinitions,
} as const

const documentProperties: Readonly<Record<keyof TextDocument, JsonSchema>> = {
  version: { const: outputVersion, description: 'version of this description' },
  command: text('the command that ran'),
  model: text('the model that was asked'),
  text: text('the text of the first candidate'),
  finish_reason: { enum: finishReasons, description: 'why the text ended' },
  tool_calls: list(reference('tool_call'), 'tools that the model asks to be called'),
  usage: { oneOf: [reference('usage'), { type: 'null' }], description: 'tokens, where the gateway tells' },
  request_id: textOrNull('id of the request'),
  response: anything("the gateway's own object; the chunks of a stream merged into one"),
  reasoning: text('what the model shows of its reasoning'),
  refusal: text('why the model refuses'),
  candidates: list(reference('candidate'), 'every candidate'),
  citations: list(reference('citation'), 'sources'),
  files: list(reference('file'), 'files that were written'),
  warnings: list({ type: 'string' }, 'what was odd'),
}

const errorProperties: Readonly<Record<keyof ErrorDocument['error'], JsonSchema>> = {
  code: { type: 'string', pattern: '^[a-z0-9_]+$', description: 'a stable word' },
  exit_code: count('the exit code of the program'),
  phase: textOrNull('how far the command had come'),
  http_status: { type: ['integer', 'null'], description: 'status of the reply' },
  request_id: textOrNull('id of the request'),
  retry_after_s: { type: ['number', 'null'], description: 'seconds that the gateway asks to wait' },
  billed: { enum: ['no', 'maybe', 'yes'], description: 'whether the call may have cost money' },
  message: text('what went wrong, one line for each problem'),
  hint: textOrNull('what to do next'),
  remote_id: textOrNull('id of the remote response or job'),
  rescued: list({ type: 'string' }, 'where results are that could not be written where they belong'),
}

type EventFields<Type extends OutputEvent['type']> = Omit<Extract<OutputEvent, { type: Type }>, 'type'>

/** Every event, with every field: the compiler compares both with `OutputEvent`. */
const eventFields: {
  readonly [Type in Exclude<OutputEvent['type'], (ImageEvent | VideoEvent)['type']>]: Readonly<
    Record<keyof EventFields<Type>, JsonSchema>
  >
} = {
  start: {
    version: { const: outputVersion, description: 'version of this description' },
    command: text('the command that runs'),
    model: textOrNull('the model that is asked; null where the command asks none'),
  },
  'text-delta': { index: count('number of the candidate'), text: text('a piece of its text') },
  'reasoning-delta': { text: text('a piece of the reasoning') },
  'refusal-delta': { text: text('a piece of the refusal') },
  'tool-delta': {
    index: count('number of the call'),
    name: text('name of the tool'),
    arguments: text('a piece of the arguments'),
  },
  'tool-call': { index: count('number of the call'), call: reference('tool_call') },
  'code-run': { language: text('language'), code: text('code that the model ran') },
  'code-result': { outcome: text('how it went'), output: text('what it printed') },
  'citation-add': { citation: reference('citation') },
  'item-add': {
    kind: text('kind of item'),
    summary: text('what it is, in one line'),
    item: anything("the gateway's own object"),
  },
  'safety-report': { ratings: list({}, "the gateway's ratings that are not negligible") },
  'prompt-block': { reason: text('why the prompt was blocked'), message: textOrNull('in words') },
  'image-data': {
    mime_type: text('media type'),
    base64: text('the image'),
    partial: { type: 'boolean', description: 'a preview; another will follow' },
  },
  'file-save': { file: reference('file') },
  'retry-wait': {
    attempt: count('number of the attempt'),
    attempts_left: count('attempts that are left, the next one included'),
    wait_s: { type: 'number', minimum: 0, description: 'seconds until the next' },
    http_status: { type: ['integer', 'null'], description: 'status of the reply, if there was one' },
    reason: text('why'),
  },
  'warning-add': { message: text('what is odd') },
}

const allEventFields: Readonly<Record<OutputEvent['type'], Readonly<Record<string, JsonSchema>>>> = {
  ...eventFields,
  ...imageEventFields,
  ...videoEventFields,
}

/** The `type` of every event that a command may report between `start` and the last line. */
export const eventTypes = Object.keys(allEventFields) as readonly OutputEvent['type'][]

const error = whole(errorProperties)
const document = whole(documentProperties)
const imageDocument = whole(imageDocumentProperties)
const videoDocument = whole(videoDocumentProperties)
const jobList = whole(jobListProperties)

function whole(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties) }
}

const head = (name: string, title: string): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: `urn:modelgate:${name}:${outputVersion}`,
  title,
})

function line(type: string, properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return whole({ type: { const: type }, ...properties })
}

/** What the program prints for programs, by the name that `modelgate schema` takes. Fields are only ever added. */
export const outputSchemas = {
  output: { ...head('output', 'The document of --json'), ...document, $defs: definitions },
  images: {
    ...head('images', 'The document of --json of the image commands'),
    ...imageDocument,
    $defs: definitions,
  },
  videos: {
    ...head('videos', 'The document of --json of the commands that start a video or look one up'),
    ...videoDocument,
    $defs: definitions,
  },
  jobs: {
    ...head('jobs', 'The document of --json of the list of jobs'),
    ...jobList,
    $defs: definitions,
  },
  events: {
    ...head('events', 'A line of --jsonl'),
    oneOf: [
      ...eventTypes.map((type) => line(type, allEventFields[type])),
      line('end', documentProperties),
      line('end', imageDocumentProperties),
      line('end', videoDocumentProperties),
      line('end', jobListProperties),
      line('error', { error }),
    ],
    $defs: definitions,
  },
  error: {
    ...head('error', 'The document of --json on standard error when a command fails'),
    type: 'object',
    properties: {
      error,
      partial: {
        oneOf: [document, imageDocument, videoDocument, jobList],
        description: 'what had arrived; left out when nothing had',
      },
    },
    required: ['error'],
    $defs: definitions,
  },
} as const satisfies Record<string, JsonSchema>

export type OutputSchemaName = keyof typeof outputSchemas
