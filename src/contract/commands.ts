import {
  commandInputs,
  conflictingInputs,
  type CommandInput,
  type ConflictingNames,
  type CreatingCommand,
  type FilesInput,
} from './command-inputs.ts'
import type { Endpoint, Family } from './field.ts'
import { generateContentEndpoint } from './generate-content.ts'
import { imageCreateEndpoint, imageEditEndpoint } from './images.ts'
import { responsesEndpoint } from './responses.ts'
import { videoOperationEndpoint, videoRemixEndpoint } from './videos.ts'

/** As a manifest calls it. Names are those of flags, without dashes in front. */
export interface CommandContract {
  readonly name: CreatingCommand
  readonly endpoint: Endpoint
  readonly creates: 'text' | 'image' | 'video'
  /** What the user says. */
  readonly prompt: { readonly name: 'prompt' | 'input'; readonly about: string }
  /** At least one of these is there. */
  readonly content: readonly string[]
  readonly model: {
    readonly location: 'body' | 'path'
    /** Without one, the gateway chooses. */
    readonly isOptional: boolean
    /** Of its families; null where models have none. */
    readonly family: Family['kind'] | null
  }
  readonly inputs: readonly (CommandInput | FilesInput)[]
  readonly conflicts: readonly ConflictingNames[]
  /** Fields that mean nothing in a manifest, each with the reason: a sentence. */
  readonly excluded: Readonly<Record<string, string>>
}

const isTransport = 'It says how a result travels, which is up to the run.'
const isStorage = 'A result is saved where "out" says.'

type Row = Pick<CommandContract, 'endpoint' | 'creates' | 'prompt' | 'content' | 'excluded'>

const rows: Readonly<Record<CreatingCommand, Row>> = {
  generate: {
    endpoint: generateContentEndpoint,
    creates: 'text',
    prompt: { name: 'prompt', about: 'what to ask' },
    content: ['prompt', 'contents'],
    excluded: { 'candidate-count': 'A job makes one text; "variants" makes several to pick from.' },
  },
  respond: {
    endpoint: responsesEndpoint,
    creates: 'text',
    prompt: { name: 'input', about: 'what to ask' },
    content: ['input', 'prompt'],
    excluded: { stream: isTransport, 'stream-options': isTransport, background: isTransport },
  },
  'image create': {
    endpoint: imageCreateEndpoint,
    creates: 'image',
    prompt: { name: 'prompt', about: 'what to draw' },
    content: ['prompt'],
    excluded: { stream: isTransport, 'partial-images': isTransport, 'response-format': isTransport },
  },
  'image edit': {
    endpoint: imageEditEndpoint,
    creates: 'image',
    prompt: { name: 'prompt', about: 'what to change' },
    content: ['prompt'],
    excluded: { stream: isTransport, 'partial-images': isTransport, 'response-format': isTransport },
  },
  'video generate': {
    endpoint: videoOperationEndpoint,
    creates: 'video',
    prompt: { name: 'prompt', about: 'what to show' },
    content: ['prompt', 'instances', 'image', 'last-frame', 'reference', 'video'],
    excluded: { 'storage-uri': isStorage, 'pubsub-topic': isTransport },
  },
  'video remix': {
    endpoint: videoRemixEndpoint,
    creates: 'video',
    prompt: { name: 'prompt', about: 'what to change' },
    content: ['prompt'],
    excluded: {},
  },
}

function contractOf(name: CreatingCommand): CommandContract {
  const row = rows[name]
  const { path, fields } = row.endpoint
  const location = path.includes('{model}') ? 'path' : 'body'
  const isOptional = location === 'body' && fields['model']?.required !== true
  return {
    name,
    ...row,
    model: { location, isOptional, family: row.creates === 'text' ? null : row.creates },
    inputs: Object.values(commandInputs[name]),
    conflicts:
      (conflictingInputs as Partial<Record<CreatingCommand, readonly ConflictingNames[]>>)[name] ?? [],
  }
}

export const creatingCommands = Object.fromEntries(
  Object.keys(rows).map((name) => [name, contractOf(name as CreatingCommand)]),
) as Readonly<Record<CreatingCommand, CommandContract>>
