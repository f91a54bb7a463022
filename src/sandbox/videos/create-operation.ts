import { videoOperationEndpoint } from '../../contract/videos.ts'
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
const usual = { seconds: 8, shape: '16:9', resolution: '720p', count: 1 } as const

const longSides: Readonly<Record<string, readonly [number, number]>> = {
  '720p': [1280, 720],
  '1080p': [1920, 1080],
  '4k': [3840, 2160],
}

/** Of an operation's prompt, which may have any length, a look-up as a video shows so much. */
const shownLength = 32_000

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
      prompt: prompts[0]!.slice(0, shownLength),
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
  const sides = Object.hasOwn(longSides, resolution) ? longSides[resolution]! : undefined
  if (sides === undefined) {
    throw invalidField('parameters.resolution', `must be one of ${Object.keys(longSides).join(', ')}`)
  }
  const shape = textOf(parameters['aspectRatio']) || usual.shape
  if (shape !== '16:9' && shape !== '9:16') {
    throw invalidField('parameters.aspectRatio', 'must be 16:9 or 9:16')
  }
  const [long, short] = sides
  return shape === '16:9' ? { width: long, height: short, seconds } : { width: short, height: long, seconds }
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
