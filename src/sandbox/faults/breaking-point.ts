import type { Frame } from '../http/reply.ts'
import type { FaultPoint } from './actions.ts'

/** Says, frame by frame, after how many bytes of this frame the fault strikes; undefined while it does not. */
export type BreakingPoint = (bytes: Uint8Array, role: Frame['role']) => number | undefined

/**
 * Where in a body a fault strikes. A body without the point (no such event, no character of several bytes)
 * is struck in the middle of its terminal event; one shorter than a byte number is not struck.
 */
export function breakingPoint(at: FaultPoint, event: number): BreakingPoint {
  let index = 0
  let before = 0
  return (bytes, role) => {
    index++
    const middle = Math.floor(bytes.length / 2)
    const start = before
    before += bytes.length
    switch (at) {
      case 'mid-event':
        return index === event || role === 'terminal' ? middle : undefined
      case 'mid-character': {
        // A byte from 0xC0 up begins a character of several bytes.
        const first = bytes.findIndex((byte) => byte >= 0xc0)
        if (first !== -1) return first + 1
        return role === 'terminal' ? middle : undefined
      }
      case 'before-terminal':
        return role === 'terminal' ? 0 : undefined
      case 'after-terminal':
        return role === 'terminal' ? bytes.length : undefined
      case 'before-body':
      case 'before-headers':
      case 'after-headers':
        return 0
      default:
        return at <= before ? Math.max(0, at - start) : undefined
    }
  }
}
