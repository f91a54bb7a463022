import {
  maxVideoPromptLength,
  videoAspectRatios,
  videoOperationEndpoint,
  videoResolutions,
} from '../../contract/videos.ts'
import { assertValid } from '../http/problem.ts'
import { jsonType } from '../http/envelope.ts'
import { jsonReply } from '../http/reply.ts'
import type { Reply } from '../http/reply.ts'
import { numberOf, objectOf, objectsOf, textOf } from '../json-value.ts'
import type { JsonObject } from '../json-value.ts'
import type { SandboxRequest } from '../request.ts'
import { firstPrompt, longestFilmSeconds } from './film-plan.ts'
import type { Film } from './film-plan.ts'
import { operationName } from './job.ts'
import { checkImageObject, invalidField } from './reference-image.ts'
import { videoScenarioOf } from './scenario.ts'
import { newId, pollHint, startJob } from './works.ts'
import type { VideoWorks } from './works.ts'

/** What the parameters say where they say nothing. */
const usual = { seconds: 8, ratio: '16:9', resolution: '720p', count: 1 } as const

/** Videos of all instances together; the specification sets no limit, a stand-in should. */
const maxFilms = 16

/**
 * Endpoint 7: begins an operation; the reply is its name and nothing else (wire facts, section 7).
 * @throws RequestProblem 400
 */
export async function createOperation(
  request: SandboxRequest,
  model: string,
  works: VideoWorks,
): Promise<Reply> {
  const { body } = request
  assertValid(videoOperationEndpoint, body)
  const instances = objectsOf(body['instances'])
  const parameters = objectOf(body['parameters'])
  const shape = readShape(parameters)
  const count = numberOf(parameters['sampleCount']) ?? usual.count
  if (instances.length * count > maxFilms) {
    throw invalidField('instances', `must ask for at most ${maxFilms} videos in the sandbox`)
  }
  const marks: number[][] = []
  for (const [index, instance] of instances.entries()) {
    marks.push(await checkInstance(instance, `instances[${index}]`))
  }
  const prompts = instances.map((instance) => textOf(instance['prompt']))
  const id = newId(20, request, works)
  const seed = numberOf(parameters['seed']) ?? id
  const job = await startJob(
    {
      id,
      kind: 'operation',
      model,
      // It may have any length; a look-up as a video shows as much as a video may have.
      prompt: prompts[0]!.slice(0, maxVideoPromptLength),
      scenario: videoScenarioOf(request, prompts.join('\n'), model),
      films: prompts.flatMap((prompt, index) =>
        Array.from({ length: count }, (_, sample): Film => ({
          prompts: firstPrompt(prompt),
          seed: JSON.stringify([works.seed, seed, index, sample, ...marks[index]!]),
          ...shape,
        })),
      ),
      remixedFrom: null,
    },
    works,
  )
  return jsonReply(
    { name: operationName(job) },
    {
      headers: { 'content-type': jsonType('google'), ...pollHint(job, works) },
      pretty: true,
      creates: true,
      pause: 'first',
    },
  )
}

function readShape(parameters: JsonObject): Pick<Film, 'width' | 'height' | 'seconds'> {
  const seconds = numberOf(parameters['durationSeconds']) ?? usual.seconds
  if (seconds > longestFilmSeconds) {
    throw invalidField(
      'parameters.durationSeconds',
      `must be at most ${longestFilmSeconds} in the sandbox, not ${seconds}`,
    )
  }
  const resolution = textOf(parameters['resolution']) || usual.resolution
  const sides = Object.hasOwn(videoResolutions, resolution) ? videoResolutions[resolution]! : undefined
  if (sides === undefined) {
    throw invalidField('parameters.resolution', `must be one of ${Object.keys(videoResolutions).join(', ')}`)
  }
  const ratio = textOf(parameters['aspectRatio']) || usual.ratio
  if (!videoAspectRatios.some((known) => known === ratio)) {
    throw invalidField('parameters.aspectRatio', `must be ${videoAspectRatios.join(' or ')}`)
  }
  const [long, short] = sides
  return ratio === usual.ratio
    ? { width: long, height: short, seconds }
    : { width: short, height: long, seconds }
}

/** @returns fingerprints of its images */
async function checkInstance(instance: JsonObject, field: string): Promise<number[]> {
  if (textOf(instance['prompt']).trim() === '') throw invalidField(`${field}.prompt`, 'must have text')
  const marks: number[] = []
  for (const name of ['image', 'lastFrame']) {
    if (instance[name] === undefined) continue
    marks.push(await checkImageObject(instance[name], `${field}.${name}`))
  }
  for (const [index, reference] of objectsOf(instance['referenceImages']).entries()) {
    marks.push(await checkImageObject(reference['image'], `${field}.referenceImages[${index}].image`))
  }
  return marks
}
