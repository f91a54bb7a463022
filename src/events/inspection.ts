import {
  count,
  countOrNull,
  define,
  flag,
  list,
  object,
  oneOf,
  orNull,
  secondsOrNull,
  text,
  textMatching,
  textOrNull,
  version,
  type Infer,
} from './output-schema.ts'
import { warnings } from './text.ts'

/** The call that made the file. */
const origin = object({
  sidecar: textOrNull('path of the sidecar that describes the file'),
  log_number: countOrNull('number of the entry in the log; 1 is the newest'),
  path: textOrNull('where the file was written first; null when that is where it is'),
  time: textOrNull('when, as an ISO date'),
  command: textOrNull('the command that ran'),
  model: textOrNull('the model; null when the gateway chose'),
  prompt: textOrNull('the prompt'),
  revised_prompt: textOrNull('the prompt as revised by the gateway'),
  request_id: textOrNull('id of the request'),
  again: textOrNull('the line to paste that makes such a file again'),
})

export type Inspection = Infer<typeof inspection.schema>
const inspection = define(
  'inspection',
  object({
    path: text('the file, as it was given'),
    bytes: count('length in bytes'),
    sha256: text('of the content, in hexadecimal'),
    mime_type: textOrNull('what the bytes are, whatever the name says; null when unknown'),
    width: countOrNull('in pixels, as stored'),
    height: countOrNull('in pixels, as stored'),
    seconds: secondsOrNull('duration of a video'),
    alpha: orNull(flag(''), 'whether pixels of the image can be transparent'),
    integrity: oneOf(
      ['whole', 'unknown', 'unchecked', 'short', 'damaged'],
      'unknown: the format does not say where the file ends; unchecked: there is no check for this type',
    ),
    damage: textOrNull('what is wrong, for short and damaged'),
    credentials: flag('whether content credentials (C2PA) are inside; nothing of them is verified'),
    made_with: orNull(origin, 'null when neither a sidecar nor the log knows the file'),
  }),
)

/** A file that could not be read. */
const failure = object({
  path: text('the file, as it was given'),
  code: textMatching('^[a-z0-9_]+$', 'a stable word'),
  message: text('why'),
})

export const inspectionDefinitions = [inspection] as const

export const inspectionEvents = {
  'file-inspect': { file: inspection.reference },
  'file-fail': { failure },
}

/** The document of `inspect`. */
export type InspectionDocument = Infer<typeof inspectionDocument>
export const inspectionDocument = object({
  version,
  command: oneOf(['inspect'], 'the command that ran'),
  files: list(inspection.reference, 'the files, in the order that was given'),
  failures: list(failure, 'files that could not be read'),
  warnings,
})
