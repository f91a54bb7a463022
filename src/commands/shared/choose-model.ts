import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { Settings } from '../../config/settings.ts'
import { askText, canAsk } from './text-prompt.ts'
import type { CommonOptions } from './common-options.ts'
import type { ProblemList } from '../../problems.ts'
import type { FamilyId } from '../../contract/families.ts'
import type { Endpoint } from '../../contract/field.ts'
import type { Body } from '../../operations/operation.ts'
import { isSet } from './request-body.ts'

/** The kinds of model that a command may need: where they are configured, and what the sandbox advertises. */
const kinds = {
  text: { setting: 'textModel', sandbox: 'sandbox-text', env: 'MODELGATE_TEXT_MODEL', file: 'text_model' },
  image: {
    setting: 'imageModel',
    sandbox: 'image-model-a',
    env: 'MODELGATE_IMAGE_MODEL',
    file: 'image_model',
  },
  video: {
    setting: 'videoModel',
    sandbox: 'sandbox-video',
    env: 'MODELGATE_VIDEO_MODEL',
    file: 'video_model',
  },
  remix: {
    setting: 'videoModel',
    sandbox: 'video-model-remix',
    env: 'MODELGATE_VIDEO_MODEL',
    file: 'video_model',
  },
} as const

export type ModelKind = keyof typeof kinds

/** The model that flags, environment and configuration name; undefined when none does. */
export function configuredModel(
  kind: ModelKind,
  options: CommonOptions,
  settings: Settings | undefined,
): string | undefined {
  const model = settings === undefined ? options.model : settings[kinds[kind].setting].value
  return model === '' ? undefined : model
}

/**
 * The model: `-m`, then environment and configuration, then the sandbox's; else asked for.
 * @param settings undefined when they could not be read: then nothing is missed
 * @param problems when there are any, nobody is asked: the call fails anyway
 * @throws UsageError when no one names a model
 */
export async function chooseModel(
  kind: ModelKind,
  context: Context,
  options: CommonOptions,
  settings: Settings | undefined,
  problems: ProblemList,
): Promise<string | undefined> {
  const configured = configuredModel(kind, options, settings)
  if (configured !== undefined || settings === undefined) return configured
  const { sandbox, env, file } = kinds[kind]
  if (options.sandbox) return sandbox
  if (!problems.any && canAsk(context, !options.input)) {
    const answer = await askText(context, 'Model:')
    if (answer.trim() !== '') return answer.trim()
  }
  throw new UsageError('No model was given.', {
    code: 'model_missing',
    hint: `Give one with -m, ${env}, or ${file} in the configuration.`,
  })
}

/** What is wrong with a model: it is of a family that the specification does not name for the endpoint. */
export function modelProblems(
  { families = {} }: Endpoint,
  model: string,
  family: FamilyId | undefined,
): string[] {
  if (family === undefined || families[family] !== undefined) return []
  const served = Object.keys(families).join(', ')
  return [`-m ${JSON.stringify(model)} is of ${family}; this command takes models of ${served}.`]
}

/** The model that the body names, unless `-m` names another: `-m` overrides `--body`, and `--set` overrides both. */
export function modelOfBody({ model }: Body, options: CommonOptions): string | undefined {
  const isOverridden = options.model !== undefined && !isSet(options, 'model')
  return typeof model === 'string' && model !== '' && !isOverridden ? model : undefined
}
