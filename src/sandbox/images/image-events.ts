import { envelope } from '../http/envelope.ts'
import type { RequestProblem } from '../http/problem.ts'
import type { Frame } from '../http/reply.ts'
import { traitsOf } from './job.ts'
import type { ImageJob } from './job.ts'
import type { EncodedPicture } from './painter.ts'

/** Points along the shorter side of the first partial image, and how many times more every next one has. */
const firstPoints = 12
const sharpening = 2.3

/**
 * The events of a stream: for every image its partial images, growing sharper, then the whole one. They are made one
 * after the other, while those before them travel. No `[DONE]` closes them, as the public service has it.
 */
export async function* imageEvents(job: ImageJob): AsyncGenerator<Frame> {
  const { painter } = job
  for (let index = 0; index < job.count; index++) {
    const isLast = index === job.count - 1
    const isEarly = job.order.scenario === 'early'
    if (isEarly) yield completed(job, await painter.whole(index), isLast)
    for (let partial = 0; partial < job.order.partials; partial++) {
      const points = Math.round(firstPoints * sharpening ** partial)
      const blurred = await painter.softened(index, points)
      const role = isEarly && isLast ? 'closing' : 'event'
      yield event(job, 'partial_image', blurred, { partial_image_index: partial }, role)
    }
    if (!isEarly) yield completed(job, await painter.whole(index), isLast)
  }
}

/** Usage of all images is told once, with the last of them. */
function completed(job: ImageJob, encoded: EncodedPicture, isLast: boolean): Frame {
  return event(job, 'completed', encoded, isLast ? { usage: job.usage } : {}, isLast ? 'terminal' : 'event')
}

function event(
  job: ImageJob,
  name: 'partial_image' | 'completed',
  { bytes, background }: EncodedPicture,
  more: object,
  role: Frame['role'],
): Frame {
  const type = `${job.eventPrefix}.${name}`
  const data = JSON.stringify({
    type,
    b64_json: Buffer.from(bytes).toString('base64'),
    created_at: job.createdAt,
    ...traitsOf(job, background),
    ...more,
  })
  return { text: `event: ${type}\ndata: ${data}\n\n`, pause: 'first', role }
}

/** The event that ends a stream whose generation broke off (wire facts, relay quirk 17). */
export function errorEvent(problem: RequestProblem): Frame {
  const data = JSON.stringify({ type: 'error', ...envelope('openai', problem) })
  return { text: `event: error\ndata: ${data}\n\n`, pause: 'token', role: 'terminal' }
}
