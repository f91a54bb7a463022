/** Everything that `--jsonl` prints line by line and `--json` as one document; names are never removed. */

import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import * as f from './fields.ts'
import { file, textDocument, textEvents } from './text.ts'
import { helpDocument } from './help-document.ts'
import { imageDocument, imageEvents } from './image.ts'
import { outputVersion } from './version.ts'
import { assetReport } from './asset-report.ts'
import { check, checksDocument, keysDocument } from './checks.ts'
import { inspectionDocument, inspectionEvents } from './inspection.ts'
import { call, callDocument, logClearDocument, logDocument, usageReportDocument } from './call.ts'
import { initDocument, placesDocument, settingsDocument } from './setting.ts'
import { model, modelsDocument } from './model.ts'
import * as run from './run-document.ts'
import { jobListDocument, videoDocument, videoEvents, videosDocument } from './video.ts'

export type OutputEvent = f.EventsOf<typeof events>
const events = {
  start: {
    version: f.version,
    command: f.text('the command that runs'),
    model: f.textOrNull('the requested model; null for commands that use none'),
  },
  'file-save': { file: file },
  'retry-wait': {
    attempt: f.count('number of the attempt'),
    attempts_left: f.count('attempts that are left, the next one included'),
    wait_s: f.seconds('seconds until the next'),
    http_status: f.integerOrNull('status of the reply, if there was one'),
    reason: f.text('why'),
  },
  'warning-add': { message: f.text('the warning') },
  ...textEvents,
  ...imageEvents,
  ...videoEvents,
  'model-list': { model },
  ...inspectionEvents,
  'call-list': { call },
  'check-end': { check },
  ...run.runEvents,
  ...run.workerEvents,
}

export const eventTypes = Object.keys(events) as readonly OutputEvent['type'][]

/** What `--json` prints, distinguished by its `command`; that of several jobs has `videos`. */
export type OutputDocument = f.Infer<(typeof documents)[number]>
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
  run.runDocument,
  run.runChangeDocument,
  run.runReportDocument,
  run.runCleanDocument,
  run.runRestoreDocument,
  run.runPushDocument,
  run.workerDocument,
] as const

export interface ErrorDocument {
  readonly error: f.Infer<typeof error>
}
const error = f.object({
  code: f.stableWord('one of those in docs/exit-codes.md, or the code of an error that the gateway sent'),
  exit_code: f.count('the exit code of the program'),
  phase: f.textOrNull('the phase in which the command failed'),
  http_status: f.integerOrNull('status of the reply'),
  request_id: f.textOrNull('id of the request'),
  retry_after_s: f.numberOrNull('seconds that the gateway asks to wait'),
  billed: f.oneOf(['no', 'maybe', 'yes'], 'whether the call may have cost money'),
  message: f.text('what went wrong, one line for each problem'),
  hint: f.textOrNull('what to do next'),
  next: f.commandOrNull('the command to run next, word by word, the program first; null where there is none'),
  remote_id: f.textOrNull('id of the remote response or job'),
  rescued: f.texts('paths of results that could not be written where they belong'),
})

function published(name: string, title: string, schema: f.Schema<unknown>): object {
  const { $schema, ...rest } = toJsonSchema(schema, {
    target: 'draft-2020-12',
    definitions: f.definitions as Record<string, v.GenericSchema>,
  })
  return { $schema, $id: `urn:modelgate:${name}:${outputVersion}`, title, ...rest }
}

const line = (type: string, entries: Readonly<Record<string, f.Schema<unknown>>>) =>
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
    'A document of the program, distinguished by its command',
    v.union([...documents, helpDocument, assetReport]),
  ),
  events: published('events', 'A line of --jsonl', v.union(lines)),
  error: published('error', 'The document of --json on standard error when a command fails', failure),
} as const

export type OutputSchemaName = keyof typeof outputSchemas
