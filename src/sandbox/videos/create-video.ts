import { videoCreateEndpoint } from '../../contract/video-create.ts'
import { assertServed } from '../images/assert-served.ts'
import { assertValid } from '../http/problem.ts'
import { jsonReply } from '../http/reply.ts'
import type { Reply } from '../http/reply.ts'
import { textOf } from '../json-value.ts'
import { videoModels } from '../models.ts'
import type { SandboxRequest } from '../request.ts'
import { firstPrompt, longestFilmSeconds } from './film-plan.ts'
import { checkImage, invalidField } from './reference-image.ts'
import { videoScenarioOf } from './scenario.ts'
import { videoObject } from './video-object.ts'
import { newId, pollHint, startJob } from './works.ts'
import type { VideoWorks } from './works.ts'

/** What the public service makes where the request says nothing. */
const usual = { seconds: '4', size: '720x1280' } as const

/**
 * `POST /v1/videos`: a video from a prompt (wire facts, "Videos").
 * @throws RequestProblem 400
 */
export async function createVideo(request: SandboxRequest, works: VideoWorks): Promise<Reply> {
  const { body } = request
  const model = textOf(body['model']) || videoModels[0].id
  assertServed(videoCreateEndpoint, model)
  assertValid(videoCreateEndpoint, body)
  const seconds = readSeconds(body['seconds'])
  const [width, height] = (textOf(body['size']) || usual.size).split('x').map(Number) as [number, number]
  const mark = await checkReference(request)
  const prompt = textOf(body['prompt'])
  const id = `video_${newId(48, request, works)}`
  const job = await startJob(
    {
      id,
      kind: 'video',
      model,
      prompt,
      scenario: videoScenarioOf(request, prompt, model),
      films: [
        {
          prompts: firstPrompt(prompt),
          seed: JSON.stringify([works.seed, id, mark]),
          width,
          height,
          seconds,
        },
      ],
      remixedFrom: null,
    },
    works,
  )
  return jsonReply(videoObject(job, works.clock.now()), {
    headers: pollHint(job, works),
    creates: true,
    pause: 'first',
  })
}

function readSeconds(value: unknown): number {
  const text = String(value ?? usual.seconds)
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (seconds >= 1 && seconds <= longestFilmSeconds) return seconds
  throw invalidField('seconds', `must be a whole number from 1 to ${longestFilmSeconds} in the sandbox`)
}

/** The image that the video starts from, as a file of the form. */
async function checkReference({ files, body }: SandboxRequest): Promise<number> {
  const foreign = files.find(({ field }) => field !== 'input_reference')
  if (foreign !== undefined) throw invalidField(foreign.field, 'is not a file of this request')
  if (files.length > 1) throw invalidField('input_reference', 'must be one file')
  if (body['input_reference'] !== undefined) {
    throw invalidField(
      'input_reference',
      'must be a file of a form in the sandbox, which fetches no addresses',
    )
  }
  const file = files[0]
  return file === undefined ? 0 : checkImage(file.head, 'input_reference', file.declaredType)
}
