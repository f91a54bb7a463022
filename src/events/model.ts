import {
  oneOf,
  count,
  countOrNull,
  define,
  flag,
  list,
  number,
  numberOrNull,
  object,
  orNull,
  text,
  textOrNull,
  texts,
  version,
  type Infer,
} from './output-schema.ts'
import { warnings } from './text.ts'

const size = object({
  multiple_of: count('both edges are multiples of it'),
  max_ratio: number('largest ratio of the longer edge to the shorter one'),
  max_edge: count('longest edge'),
  min_pixels: count('fewest pixels in all'),
  max_pixels: count('most pixels in all'),
})

export type FieldLimit = Infer<typeof fieldLimit>
export const fieldLimit = object({
  field: text('name of the field in the request'),
  taken: flag('whether the model takes the field at all'),
  values: orNull(texts('the words that are allowed'), 'null for any'),
  size: orNull(size, 'sizes in pixels that are allowed besides the words; null where there is no such rule'),
  min: numberOrNull('smallest number'),
  max: numberOrNull('largest number'),
  max_length: countOrNull('most characters'),
})

const sources = object({
  max_count: countOrNull('most pictures; null for any number'),
  below_bytes: countOrNull('each file must be smaller than this, in bytes; null for any size'),
  media_types: texts('types of the files'),
  square: flag('whether they must be square'),
})

const listing = object({
  name: textOrNull('name for people'),
  owner: textOrNull('who owns the model'),
  created_at: countOrNull('in Unix seconds'),
  input_tokens: countOrNull('most tokens of input'),
  output_tokens: countOrNull('most tokens of output'),
  methods: texts('what the gateway says that it can be used for'),
})

export type ModelEntry = Infer<typeof model.schema>
const model = define(
  'model',
  object({
    id: text('id of the model'),
    kind: textOrNull('image, video or text; null when unknown'),
    family: textOrNull('family whose limits hold; null: only the rules for every model'),
    about: textOrNull('what the family is'),
    source: textOrNull('where the id is known from, built-in or configuration; null when it is unknown'),
    retires: textOrNull('day on which its vendor retires it, as YYYY-MM-DD'),
    retired: flag('whether that day has come'),
    nearest: textOrNull('the known id that an unknown one may mean'),
    endpoints: list(
      object({ command: text('command that the limits are for'), limits: list(fieldLimit, 'by field') }),
      'commands that the model is for, as far as they have limits',
    ),
    sources: orNull(sources, 'what image edit may start from; null for anything'),
    listed: orNull(listing, 'what the gateway says of it; null when it was not asked or does not list it'),
  }),
)

export const modelDefinitions = [model] as const

export const modelEvents = {
  /** A model of `models`. */
  'model-list': { model: model.reference },
}

/** The document of `models`. */
export type ModelsDocument = Infer<typeof modelsDocument>
export const modelsDocument = object({
  version,
  command: oneOf(['models'], 'the command that ran'),
  gateway: textOrNull('address of the gateway that was asked; null where none was'),
  models: list(model.reference, 'the models'),
  request_id: textOrNull('id of the request'),
  warnings,
})
