import type { ModelEntry } from '../../events/model.ts'
import { askSearch, type Choice } from '../shared/input/questions.ts'
import type { Session } from './answers.ts'

/** The kinds that have a default model each. */
export const modelKinds = ['text', 'image', 'video'] as const

export type ModelKind = (typeof modelKinds)[number]

/** A default model for each kind; undefined for none. */
export type Models = Readonly<Record<ModelKind, string | undefined>>

/**
 * The default model of a kind: as its flag says, else as the user does, else as it is.
 * @param listed the models of the gateway; empty where it lists none
 */
export async function answerModel(
  { context, options, asks, settings }: Session,
  kind: ModelKind,
  listed: readonly ModelEntry[],
): Promise<string | undefined> {
  const present = settings[`${kind}Model`].value
  const given = options[`${kind}Model`]
  if (given === undefined && !asks) return present
  const models = inOrder(kind, listed)
  const answer =
    given ??
    (await askSearch(
      context,
      `Model for ${kind === 'text' ? 'text' : `${kind}s`}:`,
      (typed) => choicesFor(typed.trim(), models, present),
      present ?? (models.some(({ fits }) => fits) ? undefined : ''),
    ))
  const id = answer.trim()
  return id === '' || id === '-' ? undefined : id
}

/** Longer than any id that is meant to be chosen. */
const maxIdLength = 200

interface Candidate {
  readonly id: string
  /** Whether it seems to be of the kind that is asked for. */
  readonly fits: boolean
  readonly about: string
}

/** Not what could act on the terminal, or look like another. */
const canBeChosen = (id: string) => id.length <= maxIdLength && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(id)

/** Models that seem to be of the kind come first, of them those that no vendor retires; otherwise the gateway's order. */
export function inOrder(
  kind: ModelKind,
  listed: readonly Pick<ModelEntry, 'id' | 'kind' | 'retires' | 'retired'>[],
): Candidate[] {
  const candidates = listed
    .filter(({ id }) => canBeChosen(id))
    .toSorted((one, other) => Number(one.retires !== null) - Number(other.retires !== null))
    .map((entry): Candidate => {
      const guess = kindOf(entry)
      return { id: entry.id, fits: guess === kind, about: describe(entry, guess) }
    })
  return [...candidates.filter(({ fits }) => fits), ...candidates.filter(({ fits }) => !fits)]
}

function describe({ retires, retired }: Pick<ModelEntry, 'retires' | 'retired'>, guess: string): string {
  const ending = retires === null ? '' : `, ${retired ? 'retired' : 'retires'} ${retires}`
  return `${guess}${ending}`
}

const words: readonly (readonly [kind: ModelKind | 'other', pattern: RegExp])[] = [
  ['other', /embed|moderation|whisper|transcri|speech|\btts\b|audio|realtime|rerank/],
  ['video', /video|\bsora\b|\bveo\b|kling|\bwan\b|runway|seedance/],
  ['image', /image|dall-?e|imagen|\bflux\b|diffusion|sdxl|seedream|recraft|ideogram/],
]

/** The kind of a model: as the table of known models or the gateway has it, else guessed from its id. */
export function kindOf({ id, kind }: Pick<ModelEntry, 'id' | 'kind'>): ModelKind | 'other' {
  const known = modelKinds.find((one) => one === kind)
  // A gateway says of models that make pictures in a conversation only that they generate content.
  if (known !== undefined && known !== 'text') return known
  return words.find(([, pattern]) => pattern.test(id.toLowerCase()))?.[0] ?? 'text'
}

function choicesFor(
  typed: string,
  models: readonly Candidate[],
  present: string | undefined,
): Choice<string>[] {
  const parts = typed.toLowerCase().split(/\s+/)
  const found = models.filter(({ id }) => parts.every((part) => id.toLowerCase().includes(part)))
  const isListed = (id: string) => models.some((model) => model.id === id)
  const choice = ({ id, about }: Candidate): Choice<string> => ({ value: id, name: id, description: about })
  const none = { value: '', name: '(none)', description: 'give one with -m on each call' }
  if (typed === '-') return [none]
  if (typed !== '') {
    const own = { value: typed, name: `${typed}  (as typed)`, description: 'the gateway does not list it' }
    return [...found.map(choice), ...(isListed(typed) ? [] : [own])]
  }
  const kept =
    present === undefined || isListed(present)
      ? []
      : [{ value: present, name: present, description: 'as it is now' }]
  const [fitting, others] = [found.filter(({ fits }) => fits), found.filter(({ fits }) => !fits)]
  return [...kept, ...fitting.map(choice), none, ...others.map(choice)]
}
