import { normaliseBaseUrl } from '../../config/base-url.ts'
import { pathToWrite } from '../../config/edit-config.ts'
import { checkKey, credentialsPath, findKey, trimKey } from '../../config/key.ts'
import { absolutePath } from '../../config/layers.ts'
import type { Context } from '../../context.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import type { ModelEntry } from '../../events/model.ts'
import { isLoopback } from '../../loopback.ts'
import { homePath } from '../shared/call/print-document.ts'
import { checkGateway, type GatewayCheck } from '../shared/gateway/check-gateway.ts'
import type { CommandCall } from '../shared/gateway/open-gateway.ts'
import { askChoice, askLine, askSearch, askSecret, type Choice } from '../shared/input/questions.ts'
import { readStandardInputBytes } from '../shared/input/standard-input.ts'
import type { CommonOptions } from '../shared/options/common-options.ts'

export interface InitOptions extends CommonOptions {
  textModel?: string
  imageModel?: string
  videoModel?: string
  check: boolean
  yes?: true
}

/** The settings are without the flags of the answers and without the project file. */
export interface Session extends CommandCall<InitOptions> {
  readonly asks: boolean
  readonly checks: boolean
  say(line: string): void
}

export type Answers = Awaited<ReturnType<typeof answerAll>>

/** Its `check` is the last look at the gateway, with the key where there is one; undefined without any. */
export async function answerAll(session: Session) {
  const gateway = await answerBaseUrl(session)
  const { key, check } = await answerKey(session, gateway)
  const models: { [kind in ModelKind]?: string | undefined } = {}
  for (const kind of modelKinds) models[kind] = await answerModel(session, kind, check)
  return { baseUrl: gateway.baseUrl, key, check, models }
}

const maxErrorLength = 500

/** The check is without a key; undefined where none is wanted. */
interface GatewayAnswer {
  readonly baseUrl: URL
  readonly check: GatewayCheck | undefined
}

/** An address that is typed is tried at once, and can be corrected. */
async function answerBaseUrl(session: Session): Promise<GatewayAnswer> {
  const { options, settings, asks, context, gate, say } = session
  const given = options.baseUrl
  const present = given ?? settings.baseUrl.value?.href.replace(/\/$/, '')
  if (given !== undefined || !asks) return tryOut(session, present!)
  // The error may quote what the address has answered.
  const shown = (text: string) => gate.line(text, maxErrorLength)
  let answer: GatewayAnswer | undefined
  let doubtful: string | undefined
  await askLine(context, 'Address of your gateway:', present ?? '', async (typed, signal) => {
    const text = withScheme(typed.trim())
    if (text === '')
      return 'Write it like https://gateway.example. To look around without one, leave with Ctrl-C.'
    try {
      answer = await tryOut(session, text, signal)
      return undefined
    } catch (error) {
      if (!(error instanceof ModelgateError)) throw error
      if (error.exit === 'usage') return shown(messageOf(error))
      if (text === doubtful) {
        answer = { baseUrl: normalise(session, text), check: undefined }
        return undefined
      }
      doubtful = text
      return shown(`${messageOf(error)} Correct it, or press Enter again to keep it.`)
    }
  })
  const { check } = answer!
  if (check !== undefined) say(`  ${answer!.baseUrl.host}: ${check.message}`)
  return answer!
}

async function tryOut(session: Session, text: string, signal?: AbortSignal): Promise<GatewayAnswer> {
  const baseUrl = normalise(session, text)
  if (!session.checks) return { baseUrl, check: undefined }
  const check = await checkGateway(session, baseUrl, '', signal === undefined ? {} : { signal })
  const message = `${baseUrl.host}: ${check.message}`
  if (check.verdict === 'unreachable') throw check.error
  if (check.verdict === 'in doubt') throw check.error.amend({ message })
  if (session.asks && check.verdict === 'lists none') {
    throw check.error.amend({ message: `${message}: is the address right?`, hint: null })
  }
  return { baseUrl, check }
}

function normalise({ settings }: Session, text: string): URL {
  return normaliseBaseUrl(text, 'as given', settings.allowHttp.value)
}

/** Nobody types the scheme: it can only be one. */
function withScheme(text: string): string {
  if (text === '' || text.includes('://')) return text
  const host = /^(\[[^\]]*\]|[^:/]*)/.exec(text)?.[0] ?? ''
  return `${isLoopback(host) ? 'http' : 'https'}://${text}`
}

function messageOf({ message, facts: { hint } }: ModelgateError): string {
  // The address is what the question is about.
  return hint === undefined || hint.includes('--base-url') ? message : `${message} ${hint}`
}

export interface KeyAnswer {
  /** Where later calls find it; undefined when it is to come later. */
  readonly source: string | undefined
  /** To be stored. */
  readonly value?: string
  /** The file that the configuration is to name. */
  readonly path?: string
}

/** Until the gateway takes it or the user keeps it anyway. @returns also the last check, with the key where there is one */
async function answerKey(
  session: Session,
  { baseUrl, check: open }: GatewayAnswer,
): Promise<{ readonly key: KeyAnswer; readonly check: GatewayCheck | undefined }> {
  const { asks, context, gate, settings, say } = session
  const present = (await settings.keyLocation())?.source
  // An address that was kept although nothing answers there is not tried again.
  const checks = session.checks && open !== undefined
  for (let answer = await givenKey(session, present); ; answer = undefined) {
    const key = answer ?? (await askKey(session, present))
    let check: GatewayCheck
    try {
      const value = await readKey(session, key)
      if (value === undefined) return { key, check: open }
      checkKey(value, 'as given')
      gate.hide(value)
      if (!checks) return { key, check: undefined }
      check = await checkGateway(session, baseUrl, value)
      if (!asks && check.error && check.verdict !== 'lists none') throw check.error
    } catch (error) {
      if (!asks || !(error instanceof ModelgateError) || context.signal.aborted) throw error
      say(messageOf(error))
      continue
    }
    say(`  ${describeVerdict(check, open)}`)
    if (check.verdict === 'lists' || check.verdict === 'lists none') return { key, check }
    const next = await askChoice(context, 'And now?', [
      { value: 'again', name: 'Give another key' },
      { value: 'keep', name: 'Keep it anyway' },
    ])
    if (next === 'keep') return { key, check: open }
  }
}

function describeVerdict(check: GatewayCheck, open: GatewayCheck | undefined): string {
  if (check.verdict === 'lists none') return 'The gateway lists no models, so the key could not be checked.'
  if (check.verdict !== 'lists') return check.message
  return open?.verdict === 'lists'
    ? 'The gateway lists its models without a key: only a call shows whether it accepts the key.'
    : `The gateway accepts the key; ${check.message}.`
}

/** Undefined: to be asked for. */
async function givenKey(
  { context, options, asks }: Session,
  present: string | undefined,
): Promise<KeyAnswer | undefined> {
  const { apiKeyFile: path } = options
  if (path === undefined) return asks ? undefined : { source: present }
  if (path !== '-') {
    const named = pathToWrite(context, path)
    return { source: `file ${named}`, path: named }
  }
  if (context.stdin.kind === 'terminal') {
    throw new UsageError('--api-key-file - reads standard input, which is a terminal.', {
      hint: 'Leave it out: the key is asked for, and not shown.',
    })
  }
  const bytes = await readStandardInputBytes(context, '--api-key-file -')
  return toStore(context, trimKey(bytes))
}

function toStore(context: Context, value: string): KeyAnswer {
  return { source: `credentials file ${credentialsPath(context)}`, value }
}

/** As later calls would read it; undefined where it is to come later. */
async function readKey(
  { context, settings }: Session,
  { source, value, path }: KeyAnswer,
): Promise<string | undefined> {
  if (value !== undefined || source === undefined) return value
  if (path === undefined) return (await findKey(context, settings)).value
  const file = absolutePath(context, context.cwd, path)
  const apiKeyFile = { level: 'flag', source: 'as given', value: file } as const
  return (await findKey(context, { ...settings, apiKeyFile })).value
}

async function askKey({ context }: Session, present: string | undefined): Promise<KeyAnswer> {
  const store = homePath(context, credentialsPath(context) ?? 'a file')
  const asItIs = { value: { source: present }, name: 'As it is', description: present ?? '' }
  const answer = await askChoice<KeyAnswer | 'pasted'>(context, 'Your key:', [
    ...(present === undefined ? [] : [asItIs]),
    {
      value: 'pasted',
      name: 'Paste it now',
      description: `kept in ${store}, which only you can read`,
    },
    {
      value: { source: undefined },
      name: 'Later',
      description: 'set MODELGATE_API_KEY, or api_key_file or api_key_command by modelgate config set',
    },
  ])
  if (answer !== 'pasted') return answer
  const key = await askSecret(context, 'Key (not shown):', async (typed) => {
    checkKey(typed.trim(), 'as pasted')
    return undefined
  })
  return toStore(context, key.trim())
}

export const modelKinds = ['text', 'image', 'video'] as const

type ModelKind = (typeof modelKinds)[number]

/** As its flag says, else as the user does, else as it is; undefined for none. */
async function answerModel(
  { context, options, asks, settings }: Session,
  kind: ModelKind,
  check: GatewayCheck | undefined,
): Promise<string | undefined> {
  const present = settings[`${kind}Model`].value
  const given = options[`${kind}Model`]
  if (given === undefined && !asks) return present
  const models = inOrder(kind, check?.verdict === 'lists' ? check.models : [])
  const find = (typed: string) => choicesFor(typed.trim(), models, present)
  const marked = present ?? (models.some(({ fits }) => fits) ? undefined : '')
  const what = kind === 'text' ? kind : `${kind}s`
  const answer = given ?? (await askSearch(context, `Model for ${what}:`, find, marked))
  const id = answer.trim()
  return id === '' || id === '-' ? undefined : id
}

type Candidate = Choice<string> & { readonly fits: boolean }

/** Not what could act on the terminal, or look like another. */
const canBeChosen = (id: string) => id.length <= 200 && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(id)

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
      const { id, retires, retired } = entry
      const ending = retires === null ? '' : `, ${retired ? 'retired' : 'retires'} ${retires}`
      return { value: id, name: id, description: `${guess}${ending}`, fits: guess === kind }
    })
  return candidates.toSorted((one, other) => Number(other.fits) - Number(one.fits))
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

function choicesFor(typed: string, models: readonly Candidate[], present?: string): Choice<string>[] {
  const parts = typed.toLowerCase().split(/\s+/)
  const found = models.filter(({ value }) => parts.every((part) => value.toLowerCase().includes(part)))
  const isListed = (id: string) => models.some(({ value }) => value === id)
  const none = { value: '', name: '(none)', description: 'give one with -m on each call' }
  if (typed === '-') return [none]
  if (typed !== '') {
    const own = { value: typed, name: `${typed}  (as typed)`, description: 'the gateway does not list it' }
    return isListed(typed) ? found : [...found, own]
  }
  const isKept = present !== undefined && !isListed(present)
  const kept = isKept ? [{ value: present, name: present, description: 'as it is now' }] : []
  const fitting = models.filter(({ fits }) => fits)
  return [...kept, ...fitting, none, ...models.filter(({ fits }) => !fits)]
}
