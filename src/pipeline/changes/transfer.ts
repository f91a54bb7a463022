import { readFile } from 'node:fs/promises'
import { ContractError } from '../../errors.ts'
import type { RunDocument, RunPushDocument } from '../../events/run-document.ts'
import { withLineFeeds } from '../../files/input-file.ts'
import type { Outcome } from '../../operations/operation.ts'
import { counted, firstFew } from '../../quantities.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import { findResult } from '../plan/result-files.ts'
import type { ProjectState } from '../plan/project-state.ts'
import { pathFrom } from '../run/describe.ts'
import type { ManifestCall } from '../run/project.ts'
import { runManifest } from '../run/run.ts'
import type { RunCall } from '../run/run-state.ts'
import type { BlobSource, ByteSource, SharedStore } from '../store/blob-store.ts'
import { digestOfFile } from '../store/file-digest.ts'
import { projectDocument, withProject } from './change-project.ts'

const atOnce = 8
const maxNamed = 20

interface LockedFile {
  readonly instance: string
  readonly key: string
  readonly facts: OutputFacts
}

/** The outputs that the lock names, in its order, by their digests. */
function lockedFiles({ lock }: ProjectState): Map<string, LockedFile[]> {
  const all = [...lock].flatMap(([instance, { key, outputs }]) =>
    outputs.map((facts) => ({ instance, key, facts })),
  )
  return Map.groupBy(all, ({ facts }) => facts.sha256)
}

/** `run push`: puts what the lock names into a store. @throws as `projectDocument`; FileError; ModelgateError of the store */
export async function pushOutputs(call: ManifestCall, store: SharedStore): Promise<RunPushDocument> {
  return await projectDocument(call, 'run push', false, async ({ project }) => {
    const { outputFolder } = project.manifest.project
    const locked = lockedFiles(project)
    const states = new Map<string, RunPushDocument['files'][number]['state']>()
    await forEach(call.context.signal, locked, async ([sha256, files]) => {
      const path = await findFile(project, files)
      const isNew = path === undefined ? null : await store.put(await exactBytes(path, sha256), sha256)
      states.set(sha256, isNew === null ? 'missing' : isNew ? 'new' : 'present')
    })
    return {
      store: store.shown,
      files: [...locked.values()].flat().map(({ instance, facts: { path, sha256, bytes } }) => {
        const shown = pathFrom(call.context.cwd, outputFolder, path)
        return { instance, path: shown, sha256, bytes, state: states.get(sha256)! }
      }),
    }
  })
}

/** The path of one of several files of the same bytes; undefined where there is none on this machine. */
async function findFile(project: ProjectState, files: readonly LockedFile[]): Promise<string | undefined> {
  for (const { key, facts } of files) {
    const [path] = (await findResult(key, { outputs: [facts] }, project)) ?? []
    if (path !== undefined) return path
  }
  return undefined
}

/** The same byte for byte: a checkout may have changed the line breaks of a text. */
async function exactBytes(path: string, sha256: string): Promise<BlobSource> {
  if ((await digestOfFile(path, false))?.sha256 === sha256) return path
  return withLineFeeds(await readFile(path))
}

/**
 * `run pull`: fetches what the lock names and this machine has nowhere, and restores the outputs as a frozen run does.
 * @returns the outcome of that run, whose error has exit code 13 for what is still missing
 * @throws what reading the project throws; FileError; ModelgateError (exit 3, 5, 6) of the source
 */
export async function pullOutputs(
  call: ManifestCall & Pick<RunCall, 'listener'>,
  source: ByteSource,
): Promise<Outcome<RunDocument>> {
  const { listener } = call
  const warnings = await fetchMissing(call, source)
  for (const message of warnings) listener.event({ type: 'warning-add', message })
  const frozen: RunCall = {
    ...call,
    listener: {
      // Its start has been reported.
      event: (event) => event.type !== 'start' && listener.event(event),
      flush: () => listener.flush(),
    },
    prices: {},
    idempotencyHonoured: false,
    queue: undefined,
    connect: () => Promise.reject(new Error('A frozen run sends nothing.')),
  }
  const outcome = await runManifest(frozen, {
    jobs: [],
    mode: 'frozen',
    graceS: 0,
    shard: null,
    isAttended: false,
    confirm: () => Promise.resolve(false),
  })
  const { document } = outcome
  if (document === undefined) return outcome
  const all = [...warnings, ...document.warnings]
  return { ...outcome, document: { ...document, command: 'run pull', warnings: all } }
}

/** Puts the bytes among those that were put aside. @returns what could not be had, and why, each a sentence */
async function fetchMissing(call: ManifestCall, source: ByteSource): Promise<string[]> {
  const { signal } = call.context
  return await withProject(call, true, async ({ project }) => {
    const missing: LockedFile[] = []
    for (const files of lockedFiles(project).values()) {
      signal.throwIfAborted()
      if ((await findFile(project, files)) === undefined) missing.push(files[0]!)
    }
    const refusals = new Set<string>()
    const fetched = new Set<LockedFile>()
    await forEach(signal, missing, async (file) => {
      const { sha256, bytes } = file.facts
      const isThere = await project.replaced
        .receive(sha256, (path) => source.fetch(sha256, path, bytes))
        .catch((error: unknown) => {
          // Asking again does not help: a redirect that is refused, a reply that is not HTTP.
          if (!(error instanceof ContractError)) throw error
          refusals.add(error.message)
          return false
        })
      if (isThere) fetched.add(file)
    })
    const absent = missing.filter((file) => !fetched.has(file))
    if (absent.length === 0) return []
    const { outputFolder } = project.manifest.project
    const paths = absent.map(({ facts }) => pathFrom(call.context.cwd, outputFolder, facts.path))
    const what = `the bytes of ${counted(absent.length, 'file')} as locked: ${firstFew(paths, maxNamed)}`
    return [...refusals, `The store ${source.shown} does not have ${what}.`]
  })
}

/** Does something about each, several at once; after a failure nothing more is begun. @throws the first failure */
async function forEach<Item>(
  signal: AbortSignal,
  items: Iterable<Item>,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  // A loop that fails ends it for the others, too.
  const left = (function* () {
    yield* items
  })()
  const worker = async () => {
    for (const item of left) {
      signal.throwIfAborted()
      await work(item)
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: atOnce }, worker))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}
