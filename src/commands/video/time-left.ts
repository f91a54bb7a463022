import { hasEnded } from '../../contract/video-state.ts'
import type { VideoState } from '../../contract/videos.ts'

/** What one look-up found. */
interface Sight {
  readonly state: VideoState
  /** 0 to 100; null when the gateway does not say. */
  readonly progress: number | null
  /** Since the wait began. */
  readonly elapsedMs: number
}

/**
 * The time that a job has left if it goes on as it did since it was first seen under way: its time in a queue says
 * nothing about its pace, and of the time before the first look nobody knows how much of it was queue.
 * @returns takes what each look-up found, and gives whole seconds; null while the pace is not known
 */
export function createTimeLeft(): (sight: Sight) => number | null {
  let first: { readonly done: number; readonly atMs: number } | undefined
  return ({ state, progress, elapsedMs }) => {
    const done = progress ?? 0
    if (hasEnded(state) || done >= 100) return 0
    if (first === undefined && (state === 'in_progress' || done > 0)) first = { done, atMs: elapsedMs }
    if (first === undefined || done <= first.done || elapsedMs <= first.atMs) return null
    const msForEach = (elapsedMs - first.atMs) / (done - first.done)
    return Math.round((msForEach * (100 - done)) / 1000)
  }
}
