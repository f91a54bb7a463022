import * as f from './fields.ts'

export type Inspection = f.Infer<typeof inspection>
const inspection = f.shape('inspection', {
  path: f.text('the file, as it was given'),
  bytes: f.count('length in bytes'),
  sha256: f.text('of the content, in hexadecimal'),
  mime_type: f.textOrNull('what the bytes are, whatever the name says; null when unknown'),
  width: f.countOrNull('in pixels, as stored'),
  height: f.countOrNull('in pixels, as stored'),
  seconds: f.secondsOrNull('duration of a video'),
  alpha: f.orNull('whether pixels of the image can be transparent', f.flag('')),
  integrity: f.oneOf(
    ['whole', 'unknown', 'unchecked', 'short', 'damaged'],
    'unknown: the format does not say where the file ends; unchecked: there is no check for this type',
  ),
  damage: f.textOrNull('what is wrong, for short and damaged'),
  credentials: f.flag('whether content credentials (C2PA) are inside; nothing of them is verified'),
  made_with: f.orNull('null when neither a sidecar nor the log knows the file', {
    sidecar: f.textOrNull('path of the sidecar that describes the file'),
    log_id: f.textOrNull('id of the call in the log'),
    path: f.textOrNull('where the file was written first; null when that is where it is'),
    time: f.textOrNull('when, as an ISO date'),
    command: f.textOrNull('the command that ran'),
    model: f.textOrNull('the model; null when the gateway chose'),
    prompt: f.textOrNull('the prompt'),
    revised_prompt: f.textOrNull('the prompt as revised by the gateway'),
    request_id: f.textOrNull('id of the request'),
    again: f.textOrNull('the line to paste that makes such a file again'),
  }),
})

const failure = f.object({
  path: f.text('the file, as it was given'),
  code: f.stableWord('a stable word'),
  message: f.text('why'),
})

export const inspectionEvents = {
  'file-inspect': { file: inspection },
  'file-fail': { failure },
}

export type InspectionDocument = f.Infer<typeof inspectionDocument>
export const inspectionDocument = f.document(['inspect'], {
  files: f.list('the files, in the order that was given', inspection),
  failures: f.list('files that could not be read', failure),
})
