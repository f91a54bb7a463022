import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { projectFiles, userFiles } from '../../config/config-file.ts'
import { parseYaml } from '../../config/parse-config.ts'
import { stateFolder } from '../../context/folders.ts'
import type { Context } from '../../context.ts'
import { knownModels } from '../../contract/known-models.ts'
import { recordKinds, videoKinds, type RecordKind } from '../../files/calls/job-record.ts'
import { JobStore } from '../../files/calls/job-store.ts'
import { callsFolder } from '../../files/calls/call-book.ts'
import { shownIdLength } from '../../files/calls/call-record.ts'
import { CallReader } from '../../files/calls/read-calls.ts'
import { objectOf, stringOf, type JsonObject } from '../../json.ts'
import { manifestName } from '../../pipeline/project.ts'
import { roundedDuration } from '../../quantities.ts'

export type Place = Pick<Context, 'env' | 'home' | 'cwd' | 'platform'> & {
  readonly now: number
}

export interface Candidate {
  readonly value: string
  readonly about: string
}

/** As many as are worth looking through at a prompt. */
const maxValues = 50
/** How many calls are read to learn which models are in use. */
const maxCalls = 200
/** A larger YAML file takes too long to read at a prompt. */
const maxYamlBytes = 250_000

const finders = {
  videos: (place: Place) => jobs(place, videoKinds),
  responses: (place: Place) => jobs(place, ['response']),
  jobs: (place: Place) => jobs(place, recordKinds),
  models,
  profiles,
  calls,
  assets,
}
export type LiveKind = keyof typeof finders

/** The most likely ones first; if there are any, those that begin with `start`. */
export async function liveValues(
  kind: string,
  command: readonly string[],
  start: string,
  place: Place,
): Promise<Candidate[]> {
  if (!Object.hasOwn(finders, kind)) return []
  const found = await finders[kind as LiveKind](place, command).catch(() => [])
  const seen = new Set<string>()
  const values = found.filter(({ value }) => isPlain(value) && !seen.has(value) && seen.add(value))
  const fitting = values.filter(({ value }) => value.startsWith(start))
  return (fitting.length > 0 ? fitting : values)
    .slice(0, maxValues)
    .map(({ value, about }) => ({ value, about: shortened(about) }))
}

async function jobs(place: Place, kinds: readonly RecordKind[]): Promise<Candidate[]> {
  const state = stateFolder(place)
  // What an earlier version has left is taken over by the next command.
  if (state === undefined || !existsSync(callsFolder(state))) return []
  const { jobs: all } = await new JobStore(state, { now: () => place.now }).list(kinds)
  const found = all.slice(0, maxValues)
  return found.flatMap(({ record: { id, state, created_at }, prompt }) =>
    id === null ? [] : [{ value: id, about: describe(state, place.now - created_at * 1000, prompt()) }],
  )
}

async function calls(place: Place): Promise<Candidate[]> {
  return newestCalls(place, maxValues).map((call) => ({
    value: call.facts.id.slice(0, shownIdLength),
    about: describe(call.facts.command, place.now - Date.parse(call.facts.time), call.words().prompt),
  }))
}

function newestCalls(place: Place, most: number) {
  const state = stateFolder(place)
  const calls = new CallReader(state === undefined ? undefined : callsFolder(state)).calls()
  return [...calls.take(most)]
}

/** The kind of model that a command takes, by its first word; undefined for one of any kind. */
const modelKinds: Readonly<Record<string, 'text' | 'image' | 'video'>> = {
  generate: 'text',
  respond: 'text',
  chat: 'text',
  image: 'image',
  video: 'video',
}

async function models(place: Place, [word = '']: readonly string[]): Promise<Candidate[]> {
  const kind = modelKinds[word]
  const isMeant = (other: string | undefined) => kind === undefined || other === kind
  const settings = await configured(place).catch(() => [])
  const chosen = ['text', 'image', 'video']
    .filter(isMeant)
    .flatMap((own) => [
      place.env[`MODELGATE_${own.toUpperCase()}_MODEL`],
      ...settings.map((some) => some[`${own}_model`]),
    ])
    .filter((id) => typeof id === 'string')
  const used = newestCalls(place, maxCalls).flatMap(({ facts: { model, command } }) =>
    model !== undefined && isMeant(modelKinds[command.split(' ')[0]!]) ? [model] : [],
  )
  const families = settings.flatMap(({ families: own }) => Object.keys(objectOf(own)))
  return [
    ...chosen.map((value) => ({ value, about: 'configured' })),
    ...used.map((value) => ({ value, about: 'used lately' })),
    ...families.map((value) => ({ value, about: 'configured' })),
    ...knownModels().flatMap(({ id, family }) =>
      family !== undefined && isMeant(family.kind) ? [{ value: id, about: family.about }] : [],
    ),
  ]
}

async function profiles(place: Place): Promise<Candidate[]> {
  // Only the user's file has profiles.
  const [user] = await configured(place)
  return Object.entries(objectOf(user?.['profiles'])).map(([value, own]) => ({
    value,
    // Never the whole address: what else is in it may be a secret.
    about: URL.parse(stringOf(objectOf(own)['base_url']) ?? '')?.host ?? '',
  }))
}

/** The jobs of the nearest manifest, whatever else is wrong with it. */
async function assets(place: Place): Promise<Candidate[]> {
  const path = manifestAbove(place.cwd)
  const content = path === undefined ? undefined : await readYaml(path)
  const jobs = Object.entries(objectOf(objectOf(content)['jobs']))
  return jobs.map(([value, job]) => ({ value, about: stringOf(objectOf(job)['out']) ?? '' }))
}

function manifestAbove(folder: string): string | undefined {
  const path = join(folder, manifestName)
  if (existsSync(path)) return path
  const above = dirname(folder)
  return above === folder ? undefined : manifestAbove(above)
}

async function configured(place: Place): Promise<JsonObject[]> {
  const settingsIn = async ({ path }: { readonly path: string }) => {
    const content = await readYaml(path)
    return path.endsWith('package.json') ? objectOf(content)['modelgate'] : content
  }
  const nearest = [...userFiles(place).take(1), ...projectFiles(place).take(1)]
  const files = await Promise.all(nearest.map(settingsIn))
  return files
    .map(objectOf)
    .flatMap((own) => [own, ...Object.values(objectOf(own['profiles'])).map(objectOf)])
}

/** Undefined for a file that is not valid YAML (or JSON, a part of YAML), too large, or none that ends. */
async function readYaml(path: string): Promise<unknown> {
  const file = statSync(path)
  if (!file.isFile() || file.size > maxYamlBytes) return undefined
  return parseYaml(path, readFileSync(path, 'utf8')).catch(() => undefined)
}

/** `completed, 3 h ago: A paper boat` @param age in milliseconds */
function describe(what: string, age: number, prompt = ''): string {
  const seconds = Math.max(0, age / 1000)
  return `${what}, ${roundedDuration(seconds)} ago${prompt === '' ? '' : `: ${prompt}`}`
}

/** Control characters, and those that change the direction of text or cannot be seen. */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** Neither shells nor terminals act on it, and it fits a line. */
const isPlain = (value: string) => value !== '' && value.length <= 300 && !unsafe.test(value)

const maxAbout = 60

function shortened(text: string): string {
  const start = text.slice(0, 4 * maxAbout)
  const characters = [...start.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()]
  if (characters.length <= maxAbout) return characters.join('')
  return `${characters.slice(0, maxAbout - 1).join('')}…`
}
