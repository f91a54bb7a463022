import { brokenOff } from '../faults/change-frames.ts'
import { RequestProblem } from '../http/problem.ts'
import { jsonReply } from '../http/reply.ts'
import type { Reply } from '../http/reply.ts'
import { seededHex } from '../seeded-random.ts'
import { errorEvent, imageEvents } from './image-events.ts'
import { traitsOf } from './job.ts'
import type { ImageJob } from './job.ts'
import type { ImageOrder } from './order.ts'
import type { EncodedPicture } from './painter.ts'

/** Where images go that are fetched by their address; returns the whole address. */
export type KeepImage = (id: string, picture: EncodedPicture) => string

const brokeOff = new RequestProblem(500, '[sandbox] Generation broke off.')

/**
 * The reply to a valid request: images in base64 or as addresses, or events.
 * @throws RequestProblem when the scenario has it so
 */
export async function replyWithImages(job: ImageJob, keep: KeepImage): Promise<Reply> {
  const { scenario, streams } = job.order
  if (scenario === 'failure' || (scenario === 'error' && !streams)) throw brokeOff
  const headers = { 'x-request-id': `req_${seededHex(32, job.id)}` }
  if (!streams) return jsonReply(await imageList(job, keep), { headers, creates: true, pause: 'first' })
  const breakOff = () => [errorEvent(brokeOff)]
  const frames = imageEvents(job)
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', ...headers },
    frames: scenario === 'error' ? brokenOff(frames, 2, breakOff) : frames,
    isWhole: false,
    creates: true,
    breakOff,
  }
}

/**
 * The refusal of a prompt, as public practice words it.
 * @throws RequestProblem 400 in the scenarios that ask for it
 */
export function assertNotRefused({ scenario }: ImageOrder): void {
  if (scenario !== 'refusal' && scenario !== 'block') return
  throw new RequestProblem(400, '[sandbox] The request was rejected by the safety system.', {
    type: 'image_generation_user_error',
    code: 'moderation_blocked',
  })
}

/** Images that a scenario leaves of those asked for. */
export function countOf({ scenario, count }: ImageOrder): number {
  if (scenario === 'empty') return 0
  return scenario === 'fewer' ? count - 1 : count
}

async function imageList(job: ImageJob, keep: KeepImage): Promise<object> {
  const { order, createdAt, usage, count, painter, signal } = job
  const data: object[] = []
  let background = 'opaque'
  // Nobody is left to read the rest; the request was accepted all the same.
  for (let index = 0; index < count && !signal.aborted; index++) {
    const encoded = await painter.whole(index)
    background = encoded.background
    data.push({
      ...(order.isUrl
        ? { url: keep(seededHex(32, job.id, index), encoded) }
        : { b64_json: Buffer.from(encoded.bytes).toString('base64') }),
      ...(order.family === 'image-model-c' && { revised_prompt: revised(order) }),
    })
  }
  return { created: createdAt, data, ...traitsOf(job, background), ...(usage && { usage }) }
}

function revised({ prompt, isVivid }: ImageOrder): string {
  return `[sandbox] In ${isVivid ? 'vivid' : 'natural'} colours: ${prompt}`
}
