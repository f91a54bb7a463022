import { videoRemixEndpoint } from '../../contract/videos.ts'
import { assertServed } from '../images/assert-served.ts'
import { assertValid, RequestProblem } from '../http/problem.ts'
import { jsonReply } from '../http/reply.ts'
import type { Reply } from '../http/reply.ts'
import { textOf } from '../json-value.ts'
import type { SandboxRequest } from '../request.ts'
import { sizeWord, withChange } from './film-plan.ts'
import { findVideo } from './look-up-video.ts'
import { shownFilms } from './look-up-operation.ts'
import { videoScenarioOf } from './scenario.ts'
import { standingOf } from './timeline.ts'
import { videoObject } from './video-object.ts'
import { newId, pollHint, startJob } from './works.ts'
import type { VideoWorks } from './works.ts'

/**
 * Endpoint 3: a new video from a completed one, which an operation may have made. Same length, same size.
 * @throws RequestProblem 400 with the state of a source that is not completed, 404
 */
export async function remixVideo(
  request: SandboxRequest,
  sourceId: string,
  works: VideoWorks,
): Promise<Reply> {
  const { body } = request
  const model = textOf(body['model'])
  assertServed(videoRemixEndpoint, model)
  assertValid(videoRemixEndpoint, body)
  const source = await findVideo(sourceId, works)
  const { state } = standingOf(source, works.clock.now())
  if (state !== 'completed') {
    throw refused(`The video ${source.id} is not completed: it is ${state}.`, 'video_not_completed')
  }
  if (shownFilms(source) === 0) throw refused(`The operation ${source.id} has no video.`, 'video_missing')
  const film = source.films[0]!
  const [width, height] = sizeWord(film).split('x').map(Number) as [number, number]
  const prompt = textOf(body['prompt'])
  const job = await startJob(
    {
      id: `video_${newId(48, request, works)}`,
      kind: 'video',
      model,
      prompt,
      scenario: videoScenarioOf(request, prompt, model),
      films: [{ ...film, prompts: withChange(film.prompts, prompt), width, height }],
      remixedFrom: source.id,
    },
    works,
  )
  return jsonReply(videoObject(job, works.clock.now()), {
    headers: pollHint(job, works),
    creates: true,
    pause: 'first',
  })
}

function refused(message: string, code: string): RequestProblem {
  return new RequestProblem(400, message, { param: 'video_id', code })
}
