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

/** A command that creates something, as a manifest calls it. Names are those of flags, without dashes in front. */
export interface CommandContract {
  readonly name: CreatingCommand
  readonly endpoint: Endpoint
  readonly creates: 'text' | 'image' | 'video'
  /** The field of what the user says, a text. */
  readonly prompt: { readonly name: 'prompt' | 'input'; readonly about: string }
  /** At least one of these is there. */
  readonly content: readonly string[]
  readonly model: {
    readonly location: 'body' | 'path'
    /** Without one, the gateway chooses. */
    readonly isOptional: boolean
    /** The kind of its families; null where models have none. */
    readonly family: Family['kind'] | null
  }
  readonly inputs: readonly (CommandInput | FilesInput)[]
  readonly conflicts: readonly ConflictingNames[]
  /** Fields that mean nothing in a manifest, each with the reason: a sentence. */
  readonly excluded: Readonly<Record<string, string>>
}

const isTransport = 'It says how a result travels, which is up to the run.'
const isStorage = 'A result is saved where "out" says.'

/** Every command that creates something. */
export const creatingCommands: Readonly<Record<CreatingCommand, CommandContract>> = {
  generate: {
    name: 'generate',
    endpoint: generateContentEndpoint,
    creates: 'text',
    prompt: { name: 'prompt', about: 'what to ask' },
    content: ['prompt', 'contents'],
    model: { location: 'path', isOptional: false, family: null },
    inputs: Object.values(commandInputs.generate),
    conflicts: conflictingInputs.generate,
    excluded: { 'candidate-count': 'A job makes one text; "variants" makes several to pick from.' },
  },
  respond: {
    name: 'respond',
    endpoint: responsesEndpoint,
    creates: 'text',
    prompt: { name: 'input', about: 'what to ask' },
    content: ['input', 'prompt'],
    model: { location: 'body', isOptional: true, family: null },
    inputs: Object.values(commandInputs.respond),
    conflicts: conflictingInputs.respond,
    excluded: { stream: isTransport, 'stream-options': isTransport, background: isTransport },
  },
  'image create': {
    name: 'image create',
    endpoint: imageCreateEndpoint,
    creates: 'image',
    prompt: { name: 'prompt', about: 'what to draw' },
    content: ['prompt'],
    model: { location: 'body', isOptional: true, family: 'image' },
    inputs: [],
    conflicts: [],
    excluded: { stream: isTransport, 'partial-images': isTransport, 'response-format': isTransport },
  },
  'image edit': {
    name: 'image edit',
    endpoint: imageEditEndpoint,
    creates: 'image',
    prompt: { name: 'prompt', about: 'what to change' },
    content: ['prompt'],
    model: { location: 'body', isOptional: true, family: 'image' },
    inputs: Object.values(commandInputs['image edit']),
    conflicts: [],
    excluded: { stream: isTransport, 'partial-images': isTransport, 'response-format': isTransport },
  },
  'video generate': {
    name: 'video generate',
    endpoint: videoOperationEndpoint,
    creates: 'video',
    prompt: { name: 'prompt', about: 'what to show' },
    content: ['prompt', 'instances', 'image', 'last-frame', 'reference', 'video'],
    model: { location: 'path', isOptional: false, family: 'video' },
    inputs: Object.values(commandInputs['video generate']),
    conflicts: [],
    excluded: { 'storage-uri': isStorage, 'pubsub-topic': isTransport },
  },
  'video remix': {
    name: 'video remix',
    endpoint: videoRemixEndpoint,
    creates: 'video',
    prompt: { name: 'prompt', about: 'what to change' },
    content: ['prompt'],
    model: { location: 'body', isOptional: false, family: 'video' },
    inputs: Object.values(commandInputs['video remix']),
    conflicts: [],
    excluded: {},
  },
}
