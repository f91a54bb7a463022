import { videoReferenceTypes } from './videos.ts'

/** Beside the fields of an endpoint: a flag, and with underscores for dashes a field of a manifest. */
export interface CommandInput {
  /** As a flag, without dashes in front: `last-frame`. */
  readonly name: string
  readonly short?: string
  /** `files`: local files. `source`: a finished video. */
  readonly kind: 'text' | 'files' | 'schema' | 'source'
  readonly about: string
  /** How the command line takes it, after `about`. */
  readonly forms: string
  readonly value: string
  readonly required?: true
}

export interface FilesInput extends CommandInput {
  readonly kind: 'files'
  readonly isList: boolean
  /** What the files are; null for anything. */
  readonly media: 'image' | 'video' | null
  /** What a file may be used for, given as `FILE=ROLE`; the first is the default. */
  readonly roles?: readonly [string, ...string[]]
}

/** One picture, unless the facts say otherwise. */
function files(name: string, about: string, forms: string, facts: Partial<FilesInput> = {}): FilesInput {
  return { name, kind: 'files', about, forms, value: 'file|url', isList: false, media: 'image', ...facts }
}

const attach = files('attach', 'attach a file', ', a URL, or - for standard input', {
  short: 'a',
  isList: true,
  media: null,
})

const schema: CommandInput = {
  name: 'schema',
  kind: 'schema',
  about: 'JSON Schema of the answer',
  forms: ': JSON, @file or a file name; the answer is checked',
  value: 'json',
}

export const commandInputs = {
  generate: {
    system: {
      name: 'system',
      short: 's',
      kind: 'text',
      about: 'system instruction',
      forms: ' as text, or @file',
      value: 'text',
    },
    attach,
    schema,
  },
  respond: { attach, schema },
  'image create': {},
  'image edit': {
    image: files('image', 'image to edit', ', or - for standard input', { isList: true, required: true }),
    mask: files('mask', 'PNG whose transparent area may be edited', ''),
  },
  'video generate': {
    image: files('image', 'image of the first frame', ', or - for standard input'),
    'last-frame': files('last-frame', 'image of the last frame', ''),
    reference: files('reference', 'reference image', ', or FILE=style for its style', {
      isList: true,
      roles: videoReferenceTypes,
    }),
    video: files('video', 'video to extend', ': a file, or its URI at the gateway', {
      value: 'file|uri',
      media: 'video',
    }),
  },
  'video remix': {
    source: {
      name: 'source',
      kind: 'source',
      about: 'id of the finished video',
      forms: ', or the beginning of it',
      value: 'id',
      required: true,
    },
  },
} satisfies Readonly<Record<string, Readonly<Record<string, CommandInput | FilesInput>>>>

/** In the words of the command line. */
export type CreatingCommand = keyof typeof commandInputs

/** Two flags, without dashes in front, of which one would silently override the other. */
export type ConflictingNames = readonly [one: string, other: string]

export const conflictingInputs = {
  generate: [
    ['system', 'system-instruction'],
    ['schema', 'response-schema'],
    ['schema', 'response-json-schema'],
    ['schema', 'response-mime-type'],
  ],
  respond: [['schema', 'text-format']],
} as const satisfies Partial<Record<CreatingCommand, readonly ConflictingNames[]>>
