import type { CreatingCommand } from '../../contract/command-inputs.ts'
import { creatingCommands } from '../../contract/commands.ts'
import type { Project } from '../project.ts'
import type { Position } from './mistakes.ts'

export const lanes = ['text', 'image', 'video'] as const
export type Lane = (typeof lanes)[number]

/** What `{ext}` may stand for in an output, before it is made. */
export const outputExtensions: Readonly<Record<Lane, readonly string[]>> = {
  text: ['txt', 'json'],
  image: ['png', 'jpg', 'webp'],
  video: ['mp4', 'webm'],
}

/** A manifest without a mistake. */
export interface Manifest {
  readonly project: Project
  /** Of its own text, for parts that must be of one manifest. */
  readonly sha256: string
  /** A part of every key. */
  readonly gateway: string | null
  /** `cost` is in the currency of the user's prices. */
  readonly budget: { readonly creates: number | null; readonly cost: number | null }
  readonly lanes: Readonly<Record<Lane, number>>
  readonly locksPrompts: boolean
  readonly jobs: readonly Job[]
  /** By their ids, each after those that it refers to. */
  readonly instances: ReadonlyMap<string, Instance>
  readonly warnings: readonly string[]
  readonly fanOuts: readonly FanOut[]
  /**
   * The same manifest with the elements of texts that its fan-outs take.
   * @param texts by the instances that made them; the other fan-outs wait
   * @throws UsageError `manifest_invalid` with every mistake that comes of the texts
   */
  expand(texts: ReadonlyMap<string, string>): Promise<Manifest>
}

/** A job with `each: '@job'`: an instance for each element of the JSON array in a text. */
export interface FanOut {
  readonly job: string
  readonly source: Reference
  /** `max_instances`: how many elements are paid for at most, whatever a model writes. */
  readonly most: number
  readonly isBounded: boolean
}

export interface Job {
  readonly name: string
  readonly instances: readonly string[]
}

/** One thing to generate: a job, or a job for one row. */
export interface Instance {
  /** `hero`, `captions[shoe-de]`. */
  readonly id: string
  readonly job: string
  readonly command: CreatingCommand
  readonly lane: Lane
  /** Null where the gateway chooses. */
  readonly model: string | null
  /** The fields of the command in the manifest's names, after defaults and substitution. */
  readonly fields: Readonly<Record<string, FieldValue>>
  readonly references: readonly Reference[]
  /** Relative to the output folder, with `/`; words such as `{index}` and `{ext}` may be in it. */
  readonly output: string
  /** How many outputs one result has: its `n`. */
  readonly count: number
  readonly variants: number
  readonly pick: number | null
  readonly alt: string | null
  readonly asserts: Asserts
  readonly isFrozen: boolean
  /** Whether it is made although another one has the same request: its id enters its key. */
  readonly isDistinct: boolean
  readonly acceptsMismatch: boolean
  readonly onUnknown: 'stop' | 'retry'
  readonly at: Position
  /** It stands for all instances of a fan-out, while the text with their elements is not there, or has too many. */
  readonly waiting?: { readonly most: number; readonly problem: string | null } | undefined
}

export type FieldValue =
  /** Any value that the field takes, as JSON. `schema` has the schema itself. */
  | { readonly kind: 'value'; readonly value: unknown }
  /** Without byte-order mark, and with LF; null where another instance makes it. Without a source it is written there. */
  | { readonly kind: 'text'; readonly text: string | null; readonly source: Source | null }
  | { readonly kind: 'files'; readonly files: readonly InputFile[] }

/** A path relative to the manifest's folder, with `/`, or what another instance makes. */
export type Source = { readonly path: string } | { readonly reference: Reference }

export interface InputFile {
  readonly source: Source
  /** What it is used for, where the command line has it after `=`: `style`. */
  readonly role: string | null
}

/** `@job`, `@job#2`, `@job[id]`. */
export interface Reference {
  readonly text: string
  readonly instance: string
  /** From 1; null for the output. */
  readonly candidate: number | null
}

export interface Asserts {
  readonly schema?: unknown
  readonly min_chars?: number
  readonly matches?: string
  readonly width?: number
  readonly height?: number
  readonly max_bytes?: number
  readonly has_alpha?: boolean
  readonly min_seconds?: number
  readonly not_duplicate?: boolean
}

/** Whether an id may be that of an element of a fan-out whose elements are not known. */
export function isOfWaiting({ instances }: Pick<Manifest, 'instances'>, id: string): boolean {
  return instances.get(id.replace(/\[.*/s, ''))?.waiting !== undefined
}

/** The prompt, if the manifest has it; null where another instance makes it. */
export function promptOf({ command, fields }: Pick<Instance, 'command' | 'fields'>): string | null {
  const prompt = fields[creatingCommands[command].prompt.name]
  return prompt?.kind === 'text' ? prompt.text : null
}

export function sourcesOf(value: FieldValue | undefined): readonly Source[] {
  if (value?.kind === 'files') return value.files.map(({ source }) => source)
  return value?.kind === 'text' && value.source !== null ? [value.source] : []
}

export function shownSource(source: Source): string {
  return 'path' in source ? source.path : source.reference.text
}

export function referencesOf(value: FieldValue): readonly Reference[] {
  return sourcesOf(value).flatMap((source) => ('reference' in source ? source.reference : []))
}
