import * as f from './fields.ts'

export type FieldLimit = f.Infer<typeof fieldLimit>
export const fieldLimit = f.object({
  field: f.text('name of the field in the request'),
  taken: f.flag('whether the model takes the field at all'),
  values: f.orNull('null for any', f.texts('the words that are allowed')),
  size: f.orNull('sizes in pixels that are allowed besides the words; null where there is no such rule', {
    multiple_of: f.count('both edges are multiples of it'),
    max_ratio: f.number('largest ratio of the longer edge to the shorter one'),
    max_edge: f.count('longest edge'),
    min_pixels: f.count('fewest pixels in all'),
    max_pixels: f.count('most pixels in all'),
  }),
  min: f.numberOrNull('smallest number'),
  max: f.numberOrNull('largest number'),
  max_length: f.countOrNull('most characters'),
})

export type ModelEntry = f.Infer<typeof model>
export const model = f.shape('model', {
  id: f.text('id of the model'),
  kind: f.textOrNull('image, video or text; null when unknown'),
  family: f.textOrNull('family whose limits hold; null: only the rules for every model'),
  about: f.textOrNull('what the family is'),
  source: f.textOrNull('where the id is known from, built-in or configuration; null when it is unknown'),
  retires: f.textOrNull('day on which its vendor retires it, as YYYY-MM-DD'),
  retired: f.flag('whether that day has come'),
  nearest: f.textOrNull('the known id that an unknown one may mean'),
  endpoints: f.list('commands that the model is for, as far as they have limits', {
    command: f.text('command that the limits are for'),
    limits: f.list('by field', fieldLimit),
  }),
  sources: f.orNull('what image edit may start from; null for anything', {
    max_count: f.countOrNull('most pictures; null for any number'),
    below_bytes: f.countOrNull('each file must be smaller than this, in bytes; null for any size'),
    media_types: f.texts('types of the files'),
    square: f.flag('whether they must be square'),
  }),
  listed: f.orNull('what the gateway says of it; null when it was not asked or does not list it', {
    name: f.textOrNull('name for people'),
    owner: f.textOrNull('who owns the model'),
    created_at: f.countOrNull('in Unix seconds'),
    input_tokens: f.countOrNull('most tokens of input'),
    output_tokens: f.countOrNull('most tokens of output'),
    methods: f.texts('what the gateway says that it can be used for'),
  }),
})

export type ModelsDocument = f.Infer<typeof modelsDocument>
export const modelsDocument = f.document(['models'], {
  gateway: f.textOrNull('address of the gateway that was asked; null where none was'),
  models: f.list('the models', model),
  request_id: f.textOrNull('id of the request'),
})
