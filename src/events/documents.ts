/** Everything that `--jsonl` prints line by line and `--json` as one document; names are never removed. */

import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { helpDefinitions, helpDocument } from './help-document.ts'
import { costDefinitions } from './cost.ts'
import { imageDefinitions, imageDocument, imageEvents } from './image.ts'
import {
  count,
  integerOrNull,
  numberOrNull,
  object,
  oneOf,
  orNull,
  outputVersion,
  seconds,
  text,
  textMatching,
  textOrNull,
  texts,
  version,
  type Definition,
  type EventsOf,
  type Infer,
  type Schema,
} from './output-schema.ts'
import { assetReport, assetReportDefinitions } from './asset-report.ts'
import { file, textDefinitions, textDocument, textEvents } from './text.ts'
import { checkDefinitions, checkEvents, checksDocument, keysDocument } from './checks.ts'
import { inspectionDefinitions, inspectionDocument, inspectionEvents } from './inspection.ts'
import { callDocument, logClearDocument, logDefinitions, logDocument, logEvents } from './call.ts'
import { initDocument } from './set-up.ts'
import { modelDefinitions, modelEvents, modelsDocument } from './model.ts'
import {
  runChangeDocument,
  runCleanDocument,
  runPushDocument,
  runRestoreDocument,
  runDefinitions,
  runDocument,
  runEvents,
  runReportDocument,
} from './run-document.ts'
import { placesDocument, settingDefinitions, settingsDocument } from './setting.ts'
import { usageReportDefinitions, usageReportDocument } from './usage-sums.ts'
import { workerDefinitions, workerDocument, workerEvents } from './worker.ts'
import { jobListDocument, videoDefinitions, videoDocument, videoEvents, videosDocument } from './video.ts'

/** Events of every operation and of the request core. */
const commandEvents = {
  start: {
    version,
    command: text('the command that runs'),
    model: textOrNull('the requested model; null for commands that use none'),
  },
  'file-save': { file: file.reference },
  'retry-wait': {
    attempt: count('number of the attempt'),
    attempts_left: count('attempts that are left, the next one included'),
    wait_s: seconds('seconds until the next'),
    http_status: integerOrNull('status of the reply, if there was one'),
    reason: text('why'),
  },
  'warning-add': { message: text('the warning') },
}

export type OutputEvent = EventsOf<typeof events>
const events = {
  ...commandEvents,
  ...textEvents,
  ...imageEvents,
  ...videoEvents,
  ...modelEvents,
  ...inspectionEvents,
  ...logEvents,
  ...checkEvents,
  ...runEvents,
  ...workerEvents,
}

/** The `type` of every event that a command may emit between `start` and the last line. */
export const eventTypes = Object.keys(events) as readonly OutputEvent['type'][]

/** What `--json` prints, told by its `command`; that of several jobs has `videos`. */
export type OutputDocument = Infer<(typeof documents)[number]>
const documents = [
  textDocument,
  imageDocument,
  videoDocument,
  videosDocument,
  jobListDocument,
  modelsDocument,
  inspectionDocument,
  logDocument,
  callDocument,
  logClearDocument,
  usageReportDocument,
  initDocument,
  settingsDocument,
  placesDocument,
  keysDocument,
  checksDocument,
  runDocument,
  runChangeDocument,
  runReportDocument,
  runCleanDocument,
  runRestoreDocument,
  runPushDocument,
  workerDocument,
] as const

/** The error object of `--json` and `--jsonl`. */
export interface ErrorDocument {
  readonly error: Infer<typeof error>
}
const error = object({
  code: textMatching('^[a-z0-9_]+$', 'a stable word'),
  exit_code: count('the exit code of the program'),
  phase: textOrNull('the phase in which the command failed'),
  http_status: integerOrNull('status of the reply'),
  request_id: textOrNull('id of the request'),
  retry_after_s: numberOrNull('seconds that the gateway asks to wait'),
  billed: oneOf(['no', 'maybe', 'yes'], 'whether the call may have cost money'),
  message: text('what went wrong, one line for each problem'),
  hint: textOrNull('what to do next'),
  next: orNull(
    texts('words'),
    'the command to run next, word by word, the program first; null where there is none',
  ),
  remote_id: textOrNull('id of the remote response or job'),
  rescued: texts('paths of results that could not be written where they belong'),
})

const definitions = Object.fromEntries(
  [
    ...textDefinitions,
    ...imageDefinitions,
    ...videoDefinitions,
    ...modelDefinitions,
    ...costDefinitions,
    ...inspectionDefinitions,
    ...logDefinitions,
    ...usageReportDefinitions,
    ...settingDefinitions,
    ...checkDefinitions,
    ...runDefinitions,
    ...workerDefinitions,
    ...assetReportDefinitions,
    ...helpDefinitions,
  ].map(({ name, schema }: Definition<unknown>) => [name, schema]),
)

function published(name: string, title: string, schema: Schema<unknown>): object {
  const { $schema, ...rest } = toJsonSchema(schema, {
    target: 'draft-2020-12',
    definitions: definitions as Record<string, v.GenericSchema>,
  })
  return { $schema, $id: `urn:modelgate:${name}:${outputVersion}`, title, ...rest }
}

const line = (type: string, entries: Readonly<Record<string, Schema<unknown>>>) =>
  v.object({ type: v.literal(type), ...entries })

const lines = [
  ...Object.entries(events).map(([type, fields]) => line(type, fields)),
  ...documents.map(({ entries }) => line('end', entries)),
  line('error', { error }),
]

const failure = v.object({
  error,
  partial: v.optional(
    v.pipe(v.union(documents), v.description('what had arrived; left out when nothing had')),
  ),
})

/** The machine-readable output, by the name that `modelgate schema` takes. Fields are only ever added. */
export const outputSchemas = {
  output: published(
    'output',
    'A document of the program, told by its command',
    v.union([...documents, helpDocument, assetReport]),
  ),
  events: published('events', 'A line of --jsonl', v.union(lines)),
  error: published('error', 'The document of --json on standard error when a command fails', failure),
} as const

export type OutputSchemaName = keyof typeof outputSchemas
