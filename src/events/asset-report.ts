import {
  count,
  countOrNull,
  define,
  flag,
  list,
  number,
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
import { runStates, stateCounts } from './run-document.ts'

const digest = textMatching('^[0-9a-f]{64}$', 'its SHA-256 in hexadecimal; of a text with LF')

/** A file that a result consists of. */
export type ReportFile = Infer<typeof reportFile.schema>
const reportFile = define(
  'report_file',
  object({
    path: text('where it belongs, or belonged, relative to the output folder, with /'),
    stored: textOrNull(
      "where its bytes lie, relative to the manifest's folder, with /; null if they are gone",
    ),
    bytes: count('its size'),
    sha256: digest,
    media_type: text('what it is, from its bytes'),
    width: countOrNull('in pixels, of an image or a video'),
    height: countOrNull('in pixels, of an image or a video'),
    seconds: numberOrNull('how long a video plays'),
    credentials: flag('whether content credentials are inside'),
  }),
)

const provenance = {
  model: textOrNull('the model, as the gateway names it'),
  origin: textOrNull('origin of the gateway'),
  request_id: textOrNull('id of the request'),
  job_id: textOrNull('id of the remote job'),
  took_s: numberOrNull('how long it took, in seconds'),
  cost: numberOrNull('an estimate, in the currency of the report; null if it is not known'),
}

/** One of several results to choose from, or one that failed its asserts. */
export type ReportCandidate = Infer<typeof reportCandidate.schema>
const reportCandidate = define(
  'report_candidate',
  object({
    number: count('from 1, as `run pick` takes it'),
    state: oneOf(['awaiting', 'picked', 'rejected'], 'what has become of it'),
    reasons: texts('the asserts that failed, each a sentence'),
    files: list(reportFile.reference, 'what it consists of'),
    pick: orNull(
      texts('words'),
      'the command that makes it the output, word by word; null if it cannot be picked',
    ),
    ...provenance,
  }),
)

/** A field of a request, as people read it. */
const reportField = define(
  'report_field',
  object({
    name: text("the manifest's name of it"),
    text: text('its value; a list of files or other values with commas'),
    assets: texts('the ids of the assets that it refers to'),
  }),
)

/** One asset of a manifest, with all that is known of it. */
export type ReportAsset = Infer<typeof reportAsset.schema>
const reportAsset = define(
  'report_asset',
  object({
    id: text('`hero`, `captions[shoe-de]`'),
    job: text('the job of the manifest'),
    command: text('the command that makes it'),
    kind: oneOf(['image', 'video', 'text'], 'what it is'),
    state: oneOf(runStates, 'what it is in comparison with lock, files and journals'),
    reasons: texts('why, each a sentence'),
    next: orNull(texts('words'), 'the command to run next, word by word; null where nothing is to be done'),
    prompt: textOrNull('the prompt, or the input of a text'),
    prompt_file: textOrNull("the file that it was read from, relative to the manifest's folder"),
    fields: list(reportField.reference, 'the other fields of the request'),
    alt: textOrNull('what an image shows, in words'),
    output: text('the path of the output in the manifest'),
    files: list(reportFile.reference, 'the output as it is now; empty before there is one'),
    before: list(reportFile.reference, 'what was there before; empty if that is not known'),
    candidates: list(reportCandidate.reference, 'the results to choose from, and those that were rejected'),
    picked: countOrNull('the number of the candidate that became the output'),
    adopted: textOrNull('who locked a file that was there already, and on which day'),
    failure: orNull(
      object({
        code: text('a stable word'),
        exit_code: count('the exit code of the program'),
        message: text('what went wrong'),
        billed: oneOf(['no', 'maybe', 'yes'], 'whether the call may have cost money'),
      }),
      'how its last request failed',
    ),
    ...provenance,
  }),
)

/** What a report was compared with, and what that came to. */
const reportSince = define(
  'report_since',
  object({
    name: text('the commit as it was named'),
    commit: text('the id of the commit whose lock it was compared with: where it and HEAD parted'),
    changed: count('how many assets have another output than then, or another request for it'),
    added: count('how many have an output, and had none'),
    unchanged: count('how many are as they were; those of them that are up to date are not among the assets'),
    removed: list(
      object({
        id: text('`hero`, `captions[shoe-de]`'),
        files: list(reportFile.reference, 'its output of then'),
      }),
      'those that the manifest does not have any more; empty where the report is of some jobs',
    ),
  }),
)

export const assetReportDefinitions = [
  reportFile,
  reportCandidate,
  reportField,
  reportAsset,
  reportSince,
] as const

/** The assets of a manifest, for people who look at them: what `run report --format json` writes. */
export type AssetReport = Infer<typeof assetReport>
export const assetReport = object({
  version,
  command: oneOf(['run report --format json'], 'the command that wrote it'),
  name: text("the name of the manifest's folder"),
  manifest: text("the name of the manifest's file"),
  time: text('when the report was made, ISO 8601 in UTC'),
  sandbox: flag('whether the assets are those of the built-in local gateway'),
  since: orNull(
    reportSince.reference,
    'what `--since` compares with: `before` is then from there; null without it',
  ),
  sums: object({
    assets: count('how many there are'),
    states: stateCounts.reference,
    creates: count('how many requests would create what is to be made'),
    bytes: count('size of all outputs'),
    took_s: number('how long all results took, in seconds'),
    cost: numberOrNull('what they have cost, estimated; null if nothing is known'),
    currency: textOrNull('the currency of all costs'),
  }),
  assets: list(
    reportAsset.reference,
    'what failed first, then what awaits a decision, then what is to be brought up to date',
  ),
})
