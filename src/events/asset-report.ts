import * as f from './fields.ts'
import { digest, failureFields, runStates, stateCounts } from './run-document.ts'

export type ReportFile = f.Infer<typeof reportFile>
const reportFile = f.shape('report_file', {
  path: f.text('where it belongs, or belonged, relative to the output folder, with /'),
  stored: f.textOrNull(
    "where its bytes are, relative to the manifest's folder, with /; null if they are gone",
  ),
  bytes: f.count('its size'),
  sha256: digest,
  media_type: f.text('what it is, from its bytes'),
  width: f.countOrNull('in pixels, of an image or a video'),
  height: f.countOrNull('in pixels, of an image or a video'),
  seconds: f.numberOrNull('how long a video plays'),
  credentials: f.flag('whether content credentials are inside'),
})

const provenance = {
  model: f.textOrNull('the model, as the gateway names it'),
  origin: f.textOrNull('origin of the gateway'),
  request_id: f.textOrNull('id of the request'),
  job_id: f.textOrNull('id of the remote job'),
  took_s: f.numberOrNull('how long it took, in seconds'),
  cost: f.numberOrNull('an estimate, in the currency of the report; null if it is not known'),
}

export type ReportCandidate = f.Infer<typeof reportCandidate>
const reportCandidate = f.shape('report_candidate', {
  number: f.count('from 1, as `run pick` takes it'),
  state: f.oneOf(['awaiting', 'picked', 'rejected'], 'what has become of it'),
  reasons: f.texts('the asserts that failed, each a sentence'),
  files: f.list('what it consists of', reportFile),
  pick: f.commandOrNull('the command that makes it the output, word by word; null if it cannot be picked'),
  ...provenance,
})

const reportField = f.shape('report_field', {
  name: f.text("the manifest's name of it"),
  text: f.text('its value; a list of files or other values with commas'),
  assets: f.texts('the ids of the assets that it refers to'),
})

export type ReportAsset = f.Infer<typeof reportAsset>
const reportAsset = f.shape('report_asset', {
  id: f.text('`hero`, `captions[shoe-de]`'),
  job: f.text('the job of the manifest'),
  command: f.text('the command that makes it'),
  kind: f.oneOf(['image', 'video', 'text'], 'what it is'),
  state: f.oneOf(runStates, 'what it is in comparison with lock, files and journals'),
  reasons: f.texts('why, each a sentence'),
  next: f.commandOrNull('the command to run next, word by word; null where nothing is to be done'),
  prompt: f.textOrNull('the prompt, or the input of a text'),
  prompt_file: f.textOrNull("the file that it was read from, relative to the manifest's folder"),
  fields: f.list('the other fields of the request', reportField),
  alt: f.textOrNull('what an image shows, in words'),
  output: f.text('the path of the output in the manifest'),
  files: f.list('the output as it is now; empty before there is one', reportFile),
  before: f.list('what was there before; empty if that is not known', reportFile),
  candidates: f.list('the results to choose from, and those that were rejected', reportCandidate),
  picked: f.countOrNull('the number of the candidate that became the output'),
  adopted: f.textOrNull('who locked a file that was there already, and on which day'),
  failure: f.orNull('how its last request failed', f.object(failureFields)),
  ...provenance,
})

const reportSince = f.shape('report_since', {
  name: f.text('the commit as it was named'),
  commit: f.text('the id of the commit whose lock it was compared with: where it and HEAD parted'),
  changed: f.count('how many assets have another output than then, or another request for it'),
  added: f.count('how many have an output, and had none'),
  unchanged: f.count('how many are as they were; those of them that are up to date are not among the assets'),
  removed: f.list('those that the manifest does not have any more; empty where the report is of some jobs', {
    id: f.text('`hero`, `captions[shoe-de]`'),
    files: f.list('its output of then', reportFile),
  }),
})

/** The assets of a manifest, for people who look at them: what `run report --format json` writes. */
export type AssetReport = f.Infer<typeof assetReport>
export const assetReport = f.object({
  version: f.version,
  command: f.oneOf(['run report --format json'], 'the command that wrote it'),
  name: f.text("the name of the manifest's folder"),
  manifest: f.text("the name of the manifest's file"),
  time: f.text('when the report was made, ISO 8601 in UTC'),
  sandbox: f.flag('whether the assets are those of the built-in local gateway'),
  since: f.orNull('what `--since` compares with: `before` is then from there; null without it', reportSince),
  sums: f.object({
    assets: f.count('how many there are'),
    states: stateCounts,
    creates: f.count('how many requests would create what is to be made'),
    bytes: f.count('size of all outputs'),
    took_s: f.number('how long all results took, in seconds'),
    cost: f.numberOrNull('what they have cost, estimated; null if nothing is known'),
    currency: f.textOrNull('the currency of all costs'),
  }),
  assets: f.list(
    'what failed first, then what awaits a decision, then what is to be brought up to date',
    reportAsset,
  ),
})
