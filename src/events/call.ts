import {
  anything,
  count,
  countOrNull,
  define,
  flag,
  list,
  numberOrNull,
  object,
  oneOf,
  orNull,
  text,
  textMatching,
  textOrNull,
  texts,
  version,
  type Infer,
} from './output-schema.ts'
import { warnings } from './text.ts'

const fileFields = {
  path: text('where it was written, absolute'),
  bytes: count('its size'),
  sha256: textMatching('^[0-9a-f]{64}$', 'its SHA-256 in hexadecimal'),
  format: text('what it is, from its bytes: png, mp4, txt, ...'),
  width: countOrNull('in pixels, of an image or a video'),
  height: countOrNull('in pixels, of an image or a video'),
  seconds: numberOrNull('how long a video plays'),
}

const input = object({
  path: text('absolute, or a URL; "-" for standard input; empty for what came inside JSON'),
  bytes: count('its size'),
  field: orNull(oneOf(['image', 'mask'], ''), 'the field of an image edit'),
})

const callFields = {
  number: count('1 is the newest'),
  id: text('stays the same when other calls follow'),
  time: text('when the call began, ISO 8601 in UTC'),
  duration_ms: count('how long it took, in milliseconds'),
  command: text('the command that ran'),
  cwd: text('the working directory'),
  terminal: textOrNull('a name of the terminal that it came from'),
  sandbox: flag('whether the built-in local gateway answered'),
  origin: textOrNull('origin of the gateway'),
  profile: textOrNull('profile of the configuration; null for the default one'),
  model: textOrNull('the model, as asked for or as the reply names it'),
  exit_code: count('the exit code of the program'),
  error: orNull(
    object({
      code: text('a stable word'),
      message: text('what went wrong'),
      billed: oneOf(['no', 'maybe', 'yes'], 'whether the call may have cost money'),
    }),
    'how it failed',
  ),
  request_id: textOrNull('id of the request'),
  finish_reason: textOrNull('why a text ended'),
  usage: anything('token counts, as in the document of the command; null where the gateway reports none'),
  created: anything('what the call created: images, video_seconds, job; null for a look-up'),
  jobs: texts('jobs that it waited for or cancelled'),
  inputs: list(input, 'media that were sent, which are not copied'),
  prompt: textOrNull('the prompt; null where the call was recorded without it'),
  again: textOrNull('the line to paste that makes the call again; null where the log lacks a part of it'),
}

/** A call in the log. */
export type CallSummary = Infer<typeof call.schema>
const call = define('call', object({ ...callFields, files: list(object(fileFields), 'files that it wrote') }))

/** A file that a call wrote, as it is now. */
export type CallFile = Infer<typeof callFile>
const callFile = object({
  ...fileFields,
  state: oneOf(
    ['unchanged', 'changed', 'missing', 'unknown'],
    'what has become of it; unknown: it cannot be read',
  ),
})

/** All that is known of a call. */
export type WholeCall = Infer<typeof wholeCall>
const wholeCall = object({
  ...callFields,
  files: list(callFile, 'files that it wrote, as they are now'),
  arguments: orNull(texts('a word'), 'the command line as typed'),
  request: anything('the body of the request; media are references'),
  reply: anything('what a conversation goes on from: text, and the items or parts of the gateway'),
})

export const logDefinitions = [call] as const

export const logEvents = {
  /** A call of `log`. */
  'call-list': { call: call.reference },
}

/** The document of `log`. */
export type LogDocument = Infer<typeof logDocument>
export const logDocument = object({
  version,
  command: oneOf(['log'], 'the command that ran'),
  calls: list(call.reference, 'the calls, the newest first'),
  warnings,
})

/** The document of `log show`. */
export type CallDocument = Infer<typeof callDocument>
export const callDocument = object({
  version,
  command: oneOf(['log show'], 'the command that ran'),
  call: wholeCall,
  warnings,
})

/** The document of `log clear`. */
export type LogClearDocument = Infer<typeof logClearDocument>
export const logClearDocument = object({
  version,
  command: oneOf(['log clear'], 'the command that ran'),
  removed: count('how many calls were forgotten'),
  warnings,
})
