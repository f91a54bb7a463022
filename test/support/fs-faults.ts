import { AsyncLocalStorage } from 'node:async_hooks'
import promises, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

type Call = () => Promise<unknown>
type AsyncFunction = (...values: unknown[]) => Promise<unknown>

/** Stands between an action and the file system: gets each call's name and makes the call, or does not. */
export type FsHook = (name: string, call: Call) => Promise<unknown>

interface HookedAction {
  readonly hook: FsHook
  readonly handles: Set<FileHandle>
}

const actions = new AsyncLocalStorage<HookedAction>()
let installed: Promise<void> | undefined

/**
 * Leads every `node:fs/promises` call of an action that changes or asks the file system through the hook; other calls
 * of this process are made as ever. Files that the action leaves open are closed in the end.
 */
export async function withFsHook<Value>(hook: FsHook, action: () => Promise<Value>): Promise<Value> {
  await (installed ??= install())
  const handles = new Set<FileHandle>()
  try {
    return await actions.run({ hook, handles }, action)
  } finally {
    for (const handle of handles) await handle.close()
  }
}

/** What happens at one file system call, counted from 0: the action goes no further, or the call fails with a code. */
export interface FsFault {
  readonly step: number
  readonly fault: 'stop before' | 'stop after' | (string & {})
  /** What somebody else does just before the call fails. */
  readonly meanwhile?: () => void
}

export interface FaultyRun<Value> {
  /** The names of the calls that were made. */
  readonly steps: readonly string[]
  /** What the action returned; undefined when it was stopped. */
  readonly value: Value | undefined
}

/**
 * Runs an action with at most one fault. A stopped action leaves behind on disk what a killed process would: no call
 * after that is made.
 */
export async function withFsFault<Value>(
  { step, fault, meanwhile }: FsFault,
  action: () => Promise<Value>,
): Promise<FaultyRun<Value>> {
  const steps: string[] = []
  const { promise: stopped, resolve: stop } = Promise.withResolvers<undefined>()
  const never = new Promise<never>(() => {})
  let isStopped = false
  const hook: FsHook = async (name, call) => {
    if (isStopped) return await never
    const isChosen = steps.push(name) - 1 === step
    if (!isChosen) return await call()
    isStopped = fault.startsWith('stop')
    // A handle is closed even when closing it reports an error.
    if (fault === 'stop after' || name === 'handle.close') await call().catch(() => {})
    meanwhile?.()
    if (!isStopped) throw Object.assign(new Error(`${fault}: injected`), { code: fault })
    stop(undefined)
    return await never
  }
  const value = await withFsHook(hook, () => Promise.race([stopped, action()]))
  return { steps, value }
}

/** The real functions stand behind wrappers from now on, which do nothing outside an action. */
async function install(): Promise<void> {
  const handle = await promises.open(import.meta.filename)
  const methods = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  wrap(methods, ['read', 'write', 'sync', 'chmod', 'stat'], 'handle.')
  const open = promises.open
  promises.open = async (...values) => {
    const opened = await open(...values)
    const action = actions.getStore()
    if (action === undefined) return opened
    action.handles.add(opened)
    const close = opened.close.bind(opened)
    const closed = () => close().finally(() => action.handles.delete(opened))
    // Every handle has a method of its own for this.
    opened.close = () =>
      actions.getStore() === action ? (action.hook('handle.close', closed) as Promise<void>) : closed()
    return opened
  }
  wrap(promises, ['chmod', 'open', 'link', 'unlink', 'rename', 'stat', 'lstat', 'realpath', 'readdir'], '')
  syncBuiltinESMExports()
}

function wrap(target: object, names: readonly string[], prefix: string): void {
  const functions = target as Record<string, AsyncFunction>
  for (const name of names) {
    const real = functions[name]!
    functions[name] = function wrapped(this: unknown, ...values: unknown[]) {
      const call = () => real.apply(this, values)
      const action = actions.getStore()
      return action === undefined ? call() : action.hook(prefix + name, call)
    }
  }
}
