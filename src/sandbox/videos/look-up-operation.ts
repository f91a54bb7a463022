import { jsonType } from '../http/envelope.ts'
import { RequestProblem } from '../http/problem.ts'
import { jsonReply } from '../http/reply.ts'
import type { Reply } from '../http/reply.ts'
import { fileIdOf, operationName } from './job.ts'
import type { VideoJob } from './job.ts'
import { standingOf } from './timeline.ts'
import { pollHint } from './works.ts'
import type { VideoWorks } from './works.ts'

const responseType = 'type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse'

/** gRPC's number for an internal error (google/rpc/code.proto). */
const internalError = 13

/**
 * `GET /v1beta/models/{model}/operations/{id}`: the name alone while it runs, `done` with samples, with reasons why
 * there are none, or with an error (wire facts, section 7).
 * @param origin what the addresses of the videos begin with: `http://127.0.0.1:PORT`
 * @throws RequestProblem 404
 */
export async function lookUpOperation(
  model: string,
  id: string,
  origin: string,
  works: VideoWorks,
): Promise<Reply> {
  const job = await works.jobs.find(id)
  if (job?.kind !== 'operation' || job.model !== model) {
    throw new RequestProblem(404, `The operation models/${model}/operations/${id} was not found.`)
  }
  const { state } = standingOf(job, works.clock.now())
  const isRunning = state === 'pending' || state === 'in_progress'
  const hint = isRunning ? pollHint(job, works) : {}
  const reply = jsonReply(
    {
      name: operationName(job),
      ...(state === 'failed' && failed),
      ...(state === 'completed' && done(job, origin)),
    },
    { headers: { 'content-type': jsonType('google'), ...hint }, pretty: true },
  )
  return job.scenario === 'accepted' && isRunning ? { ...reply, status: 202 } : reply
}

const failed = {
  done: true,
  error: { code: internalError, message: '[sandbox] The video could not be generated.', details: [] },
}

function done(job: VideoJob, origin: string): object {
  const shown = shownFilms(job)
  const samples = Array.from({ length: shown }, (_, index) => ({
    video: { uri: `${origin}/v1beta/files/${fileIdOf(job, index)}:download?alt=media` },
  }))
  const withheld = job.scenario === 'empty' ? 0 : job.films.length - shown
  return {
    done: true,
    response: {
      '@type': responseType,
      generateVideoResponse: {
        ...(shown > 0 && { generatedSamples: samples }),
        ...(withheld > 0 && {
          raiMediaFilteredCount: withheld,
          raiMediaFilteredReasons: Array.from(
            { length: withheld },
            () => '[sandbox] The video was withheld by the safety system. You have not been charged for it.',
          ),
        }),
      },
    },
  }
}

/** Videos that the scenario leaves of those made. */
export function shownFilms({ scenario, films }: VideoJob): number {
  if (scenario === 'filtered' || scenario === 'empty') return 0
  return scenario === 'fewer' ? films.length - 1 : films.length
}
