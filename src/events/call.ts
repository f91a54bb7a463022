import * as f from './fields.ts'

const fileFields = {
  path: f.text('where it was written, absolute'),
  bytes: f.count('its size'),
  sha256: f.sha256('its SHA-256 in hexadecimal'),
  format: f.text('what it is, from its bytes: png, mp4, txt, ...'),
  width: f.countOrNull('in pixels, of an image or a video'),
  height: f.countOrNull('in pixels, of an image or a video'),
  seconds: f.numberOrNull('how long a video plays'),
}

const callFields = {
  id: f.text('16 hexadecimal digits'),
  time: f.text('when the call began, ISO 8601 in UTC'),
  duration_ms: f.count('how long it took, in milliseconds'),
  command: f.text('the command that ran'),
  cwd: f.text('the working directory'),
  terminal: f.textOrNull('a name of the terminal that it came from'),
  sandbox: f.flag('whether the built-in local gateway answered'),
  origin: f.textOrNull('origin of the gateway'),
  profile: f.textOrNull('profile of the configuration; null for the default one'),
  model: f.textOrNull('the model, as asked for or as the reply names it'),
  exit_code: f.countOrNull('the exit code of the program; null for a call that is under way, or was killed'),
  error: f.orNull('how it failed', {
    code: f.text('a stable word'),
    message: f.text('what went wrong'),
    billed: f.oneOf(['no', 'maybe', 'yes'], 'whether the call may have cost money'),
  }),
  request_id: f.textOrNull('id of the request'),
  finish_reason: f.textOrNull('why a text ended'),
  usage: f.anything('token counts, as in the document of the command; null where the gateway reports none'),
  created: f.anything('what the call created: images, video_seconds, job; null for a look-up'),
  jobs: f.texts('jobs that it waited for or cancelled'),
  rescued: f.texts('results that could not be written where they belong, absolute'),
  inputs: f.list('media that were sent, which are not copied', {
    path: f.text('absolute, or a URL; "-" for standard input; empty for what arrived inside JSON'),
    bytes: f.count('its size'),
    field: f.orNull('the field of an image edit', f.oneOf(['image', 'mask'], '')),
  }),
  prompt: f.textOrNull('the prompt; null where the call was recorded without it'),
  again: f.textOrNull('the line to paste that makes the call again; null where the log lacks a part of it'),
}

export type CallFile = WholeCall['files'][number]
export type CallSummary = f.Infer<typeof call>
export const call = f.shape('call', {
  ...callFields,
  files: f.list('files that it wrote', fileFields),
})

export type WholeCall = f.Infer<typeof wholeCall>
const wholeCall = f.object({
  ...callFields,
  files: f.list('files that it wrote, as they are now', {
    ...fileFields,
    state: f.oneOf(
      ['unchanged', 'changed', 'missing', 'unknown'],
      'what has become of it; unknown: it cannot be read',
    ),
  }),
  arguments: f.orNull('the command line as typed', f.texts('a word')),
  request: f.anything('the body of the request; media are references'),
  reply: f.anything('what a conversation continues from: text, and the items or parts of the gateway'),
})

export type LogDocument = f.Infer<typeof logDocument>
export const logDocument = f.document(['log'], {
  calls: f.list('the calls, the newest first', call),
})

export type CallDocument = f.Infer<typeof callDocument>
export const callDocument = f.document(['log show'], {
  call: wholeCall,
})

export type LogClearDocument = f.Infer<typeof logClearDocument>
export const logClearDocument = f.document(['log clear'], {
  removed: f.count('how many calls were forgotten'),
})

export const usageGroupings = ['model', 'command', 'day'] as const
export type UsageGrouping = (typeof usageGroupings)[number]

const sums = {
  calls: f.count('calls that asked for something to be created'),
  failed: f.count('of them failed, for whatever reason'),
  maybe_billed: f.count('of them have an unknown outcome, and may have been billed'),
  images: f.count('images that came'),
  video_seconds: f.seconds('seconds of video'),
  input_tokens: f.count('tokens of the input'),
  cached_tokens: f.count('of them read from a cache'),
  output_tokens: f.count('tokens of the output'),
  costs: f.list('estimated cost, by currency; empty where nothing is known', {
    currency: f.text('as in the prices of the configuration'),
    amount: f.number('an estimate'),
  }),
  unknown_costs: f.count('calls whose cost is not known'),
  unknown_reasons: f.texts('why, each reason once'),
}

export type UsageRow = f.Infer<typeof usageRow>
const usageRow = f.shape('usage_row', {
  key: f.textOrNull('the model, the command or the local day; null for a model that nobody named'),
  ...sums,
})

export type UsageSums = f.Infer<typeof usageSums>
const usageSums = f.shape('usage_sums', sums)

export type UsageDocument = f.Infer<typeof usageReportDocument>
export const usageReportDocument = f.document(['usage'], {
  since: f.textOrNull(
    'the beginning of the time that was asked for, as an ISO date; null for all of the log',
  ),
  by: f.oneOf(usageGroupings, 'what the rows stand for'),
  rows: f.list('the most expensive first; days in their order', usageRow),
  total: usageSums,
  sandbox_calls: f.count('calls of the sandbox, which are not among the others'),
})
