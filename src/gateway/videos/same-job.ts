import type { JobKind } from '../../contract/video-event.ts'
import { lastSegment } from '../../contract/last-segment.ts'

/**
 * Whether an id that the gateway gave stands for the job that was asked for (fault F7). A video is called as it was
 * asked for. An operation goes by several names: relays put another collection before its last segment, or make an id
 * of a video of the whole name, in base64 (quirk 21).
 */
export function isSameJob(kind: JobKind, asked: string, found: string): boolean {
  if (found === asked || decoded(found) === asked) return true
  if (kind === 'video') return false
  const last = lastSegment(asked)
  if (lastSegment(found) === last || lastSegment(decoded(found)) === last) return true
  const name = Buffer.from(found.replace(/^(video|task)_/, ''), 'base64url').toString()
  return name.split(/[/:;,]/).includes(last)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
