import type { Film } from './film-plan.ts'
import type { VideoScenario } from './scenario.ts'

/** A job as it is kept: what was asked and when. Its state follows from the clock. */
export interface VideoJob {
  /** Of a video, or the last part of an operation's name. */
  readonly id: string
  readonly kind: 'video' | 'operation'
  readonly model: string
  readonly prompt: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Milliseconds that it waits, and then runs. */
  readonly pendingMs: number
  readonly runningMs: number
  readonly scenario: VideoScenario | null
  /** What it makes: one video, or those of an operation. */
  readonly films: readonly Film[]
  /** Id of the source of a remix. */
  readonly remixedFrom: string | null
}

/** The name of an operation, by which its state is asked for. */
export function operationName({ model, id }: VideoJob): string {
  return `models/${model}/operations/${id}`
}

/** Videos of one job have addresses of letters and digits only: Google's client reads nothing else out of them. */
export function fileIdOf({ id }: VideoJob, index: number): string {
  return `${id}f${index}`
}

/** The job and the place of the video that a file id names; undefined for what names none. */
export function placeOfFile(fileId: string): { readonly id: string; readonly index: number } | undefined {
  const [, id, index] = /^([\da-z]+)f(\d+)$/.exec(fileId) ?? []
  return id === undefined ? undefined : { id, index: Number(index) }
}
