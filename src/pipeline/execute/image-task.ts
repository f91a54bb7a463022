import type { FileContext } from '../../context.ts'
import { modelCalled } from '../../contract/known-models.ts'
import { UsageError } from '../../errors.ts'
import { objectOf, stringOf } from '../../json.ts'
import { imageRequest, type ImagePlan, type ImageRequest } from '../../operations/image-request.ts'
import { readImageFile, sourceProblems } from '../../operations/image-sources.ts'
import { fetchImages, makeImages } from '../../operations/make-images.ts'
import { allInputs, createProblemList } from '../../problems.ts'
import { fileTemplate, mediaFacts } from './result-facts.ts'
import { wholeResult, type Made, type TaskRun } from './task-run.ts'
import type { TaskRequest } from '../manifest/request-body.ts'

const plan: ImagePlan = {
  output: fileTemplate,
  force: true,
  download: true,
  // `run` compares when it keeps the result.
  acceptMismatch: true,
}

/**
 * Has images generated and saved.
 * @throws ModelgateError; also when fewer come than were asked for, or one cannot be verified: what has been saved stays
 */
export async function makeImage({ task, call, shared }: TaskRun): Promise<Made> {
  const { instance } = task
  const command = instance.command === 'image edit' ? 'image edit' : 'image create'
  const { body, ...paths } = await task.request()
  const sources = await readSources({ ...call.context, cwd: shared.project.folder }, paths)
  const model = stringOf(body['model']) ?? null
  const family = model === null ? undefined : modelCalled(model, shared.families).family
  // What other instances have made was not there when the manifest was checked.
  const problems = await sourceProblems(sources.images, sources.mask, { id: model ?? '', family })
  if (problems.length > 0) throw new UsageError(problems, { code: 'invalid_request' })
  const list = createProblemList()
  const parts = { command, model, body, ...sources, warnings: [], family, validate: false } as const
  const request: ImageRequest = await imageRequest(call.context, parts, plan, list)
  list.throwIfAny()
  const outcome =
    task.made === null
      ? await makeImages(call, request, { ...plan, onMade: (made) => task.onMade(made) })
      : await fetchImages(call, request, plan, task.made)
  const document = wholeResult(task, outcome)
  // More than were asked for may have come; they stay in the folder.
  const files = document.files.slice(0, request.wanted.length)
  return {
    outputs: await Promise.all(files.map(({ path }) => mediaFacts(call.context, path))),
    provenance: {
      model: task.made?.model ?? stringOf(objectOf(document.response)['model']) ?? document.model,
      request_id: document.request_id,
      job_id: null,
      usage: document.usage,
    },
    document,
    warnings: document.warnings,
  }
}

async function readSources(
  context: FileContext,
  paths: Pick<TaskRequest, 'images' | 'mask'>,
): Promise<Pick<ImageRequest, 'images' | 'mask'>> {
  const read = (field: 'image' | 'mask', found: readonly string[]) =>
    allInputs(found.map((path) => readImageFile(context, { field, name: field }, path)))
  const masks = paths.mask === null ? [] : [paths.mask]
  const [images, [mask]] = await Promise.all([read('image', paths.images), read('mask', masks)])
  return { images, mask }
}
