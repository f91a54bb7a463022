import { join, relative } from 'node:path'
import { asModelgateError, UsageError } from '../../errors.ts'
import type { RunDocument } from '../../events/run-document.ts'
import { leadTo, nextCommand } from '../../files/next-command.ts'
import type { Outcome } from '../../operations/operation.ts'
import { takeOwnership } from '../journal/owner.ts'
import { resolveLock } from '../lock/merge-lock.ts'
import { readLockText, writeLock } from '../lock/project-lock.ts'
import type { Manifest } from '../manifest/manifest.ts'
import { findManifest, readManifest } from '../manifest/read-manifest.ts'
import { keysByLock } from '../plan/instance-key.ts'
import type { RunCall } from '../run/run-call.ts'
import { runManifest } from '../run/run.ts'
import { createInputDigests, digestOfFile, isTextType } from '../store/file-digest.ts'

/** What it gets from its caller: it sends nothing. */
export type ResolveCall = Omit<RunCall, 'connect' | 'prices' | 'idempotencyHonoured' | 'queue'>

/** How a manifest stands when it has been changed. */
async function look(call: ResolveCall): Promise<Outcome<RunDocument>> {
  const connect = () => Promise.reject(new Error('A look sends nothing.'))
  const outcome = await runManifest(
    { ...call, prices: {}, idempotencyHonoured: false, queue: undefined, connect },
    {
      jobs: [],
      mode: 'check',
      regenerate: [],
      force: false,
      newRun: false,
      maxCreates: undefined,
      maxCost: undefined,
      graceS: 0,
      timeoutS: undefined,
      detach: false,
      shard: null,
      confirm: async () => false,
    },
  )
  if (outcome.kind === 'failed') return outcome
  return { ...outcome, document: { ...outcome.document, command: 'run merge', mode: 'run' } }
}

/**
 * Takes the conflict markers out of a lock: keeps what both sides agree on, and of the rest what the manifest still asks for.
 * @returns the outcome, whose error has exit code 13 for what neither side had as the manifest asks for it
 */
export async function resolveRun(call: ResolveCall): Promise<Outcome<RunDocument>> {
  try {
    await resolveConflicts(call)
    return await look(call)
  } catch (thrown) {
    return { kind: 'failed', error: asModelgateError(thrown, false), document: undefined }
  }
}

/** @throws UsageError for a lock without conflict markers, or whose sides cannot be read; FileError */
async function resolveConflicts(call: ResolveCall): Promise<void> {
  const { context, env, families, file, isSandbox, listener, next } = call
  const path = await findManifest(context, file)
  const manifest = await readManifest(context, path, { isSandbox, env, families })
  const { project, instances } = manifest
  const ownership = await takeOwnership(project, context)
  try {
    const shown = relative(context.cwd, project.lockPath)
    const text = await readLockText(context, project)
    if (text === undefined || !/^<{7} /m.test(text)) {
      throw new UsageError(`${shown} has no conflict markers.`, {
        code: 'no_conflict',
        ...leadTo('See how it stands: ', nextCommand(next('--plan'))),
      })
    }
    const { lock, taken, dropped } = await resolveLock(text, shown, judgeOf(manifest))
    await writeLock(context, project, lock)
    const warn = (message: string) => listener.event({ type: 'warning-add', message })
    for (const [id, side] of taken) if (instances.has(id)) warn(`${id} is locked as ${sides[side]} has it.`)
    for (const id of dropped) warn(`${id} is not locked any more: the manifest asks for neither side.`)
  } finally {
    await ownership.release()
  }
}

const sides = { ours: 'this branch', theirs: 'the other branch' } as const

/** Decides by what the manifest asks for, and by the files that are there. */
function judgeOf({ project, instances, gateway }: Manifest): Parameters<typeof resolveLock>[2] {
  const inputDigest = createInputDigests(project.folder)
  return {
    ids: instances.keys(),
    keysOf: (id, lock) => keysByLock(instances.get(id)!, gateway, lock, inputDigest),
    async isInPlace({ outputs }) {
      for (const { path, sha256, media_type } of outputs) {
        const found = await digestOfFile(join(project.outputFolder, path), isTextType(media_type))
        if (found?.sha256 !== sha256) return false
      }
      return true
    },
  }
}
