import { AsyncLocalStorage } from 'node:async_hooks'
import fs from 'node:fs'
import promises, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

type Call = () => Promise<unknown>
type AnyFunction = (...values: unknown[]) => unknown

/**
 * Stands between an action and the file system: gets each call's name and makes the call, or does not.
 * @param path what the call is about; of an open file, what it was opened as
 */
export type FsHook = (name: string, call: Call, path: string) => Promise<unknown>

/** The same for the calls that return no promise, those of streams among them. @returns what they fail with */
export type FailCall = (name: string, path: string) => Error | undefined

interface HookedAction {
  readonly hook: FsHook
  readonly fail: FailCall
  readonly handles: Set<FileHandle>
  /** What is open by number, and as what. */
  readonly descriptors: Map<number, string>
}

const actions = new AsyncLocalStorage<HookedAction>()
let installed: Promise<void> | undefined

/**
 * Leads every call of `node:fs/promises` and `node:fs` that an action makes through the hooks; other calls of this
 * process are made as ever. Files that the action leaves open are closed in the end.
 * @param onLeftOpen gets what those were opened as
 */
export async function withFsHook<Value>(
  hook: FsHook,
  action: () => Promise<Value>,
  fail: FailCall = () => undefined,
  onLeftOpen?: (paths: readonly string[]) => void,
): Promise<Value> {
  await (installed ??= install())
  const handles = new Set<FileHandle>()
  const descriptors = new Map<number, string>()
  try {
    return await actions.run({ hook, fail, handles, descriptors }, action)
  } finally {
    onLeftOpen?.([...[...handles].map((handle) => paths.get(handle) ?? ''), ...descriptors.values()])
    for (const handle of handles) await handle.close()
    for (const descriptor of descriptors.keys()) fs.closeSync(descriptor)
  }
}

/** Fails calls of one name. @param from the first of them, counted from 1 @param to the last */
export function failing(name: string, code: string, from = 1, to = Infinity): FsHook {
  let calls = 0
  return async (called, call) => {
    if (called !== name || ++calls < from || calls > to) return await call()
    throw Object.assign(new Error('injected'), { code })
  }
}

/** What happens at one file system call, counted from 0: the action goes no further, or the call fails with a code. */
export interface FsFault {
  readonly step: number
  readonly fault: 'stop before' | 'stop after' | (string & {})
  /** What somebody else does just before the call fails. */
  readonly meanwhile?: () => void
}

/**
 * Runs an action with at most one fault. A stopped action leaves behind on disk what a killed process would: no call
 * after that is made.
 * @returns the names of the calls that were made, and what the action returned; undefined when it was stopped
 */
export async function withFsFault<Value>({ step, fault, meanwhile }: FsFault, action: () => Promise<Value>) {
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

/** Files as promises have them, by what they were opened as. */
const paths = new WeakMap<object, string>()
/** A call that is made of others counts once. */
let isInside = false

/** The real functions stand behind wrappers from now on, which do nothing outside an action. */
async function install(): Promise<void> {
  const handle = await promises.open(import.meta.filename)
  const methods = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  wrapPromised(methods, handleMethods, 'handle.')
  const open = promises.open
  promises.open = async (...values) => {
    const opened = await open(...values)
    const action = actions.getStore()
    if (action === undefined) return opened
    action.handles.add(opened)
    paths.set(opened, String(values[0]))
    const close = opened.close.bind(opened)
    const closed = () => close().finally(() => action.handles.delete(opened))
    // Every handle has a method of its own for this.
    opened.close = () =>
      actions.getStore() === action
        ? (action.hook('handle.close', closed, String(values[0])) as Promise<void>)
        : closed()
    return opened
  }
  wrapPromised(promises, ['open', ...pathCalls], '')
  wrapSync(['exists', 'open', 'close', ...pathCalls, ...descriptorCalls])
  // Streams are made of these.
  wrapCallbacks(['open', 'close', 'fstat', 'read', 'write', 'writev', 'fsync'])
  syncBuiltinESMExports()
}

const handleMethods =
  'read readv readFile write writev writeFile appendFile truncate datasync sync chmod utimes stat'.split(' ')

/** What is there as a promise, as a call with `Sync`, and begins with a path. */
const pathCalls = [
  'access chmod copyFile link lstat mkdir mkdtemp opendir readdir readlink realpath rename rm rmdir',
  'stat statfs symlink truncate unlink utimes readFile writeFile appendFile',
].flatMap((words) => words.split(' '))

const descriptorCalls = 'fstat read readv write writev ftruncate fdatasync fsync fchmod'.split(' ')

function wrapPromised(target: object, names: readonly string[], prefix: string): void {
  const functions = target as Record<string, AnyFunction>
  for (const name of names) {
    const real = functions[name]!
    functions[name] = function wrapped(this: object, ...values: unknown[]) {
      const call = () => real.apply(this, values) as Promise<unknown>
      const action = actions.getStore()
      if (action === undefined) return call()
      return action.hook(prefix + name, call, prefix === '' ? String(values[0]) : (paths.get(this) ?? ''))
    }
  }
}

function wrapSync(names: readonly string[]): void {
  const functions = fs as unknown as Record<string, AnyFunction>
  for (const base of names) {
    const name = `${base}Sync`
    const real = functions[name]!
    const wrapped = (...values: unknown[]) => {
      const action = actions.getStore()
      if (action === undefined || isInside) return real(...values)
      isInside = true
      try {
        const error = action.fail(name, pathOf(action, values[0]))
        // Closed all the same, and for existsSync what cannot be seen is not there.
        if (error !== undefined && name === 'existsSync') return false
        const value = error === undefined || name === 'closeSync' ? real(...values) : undefined
        if (name === 'openSync' && error === undefined)
          action.descriptors.set(value as number, String(values[0]))
        if (name === 'closeSync') action.descriptors.delete(values[0] as number)
        if (error !== undefined) throw error
        return value
      } finally {
        isInside = false
      }
    }
    functions[name] = likeReal(wrapped, real)
  }
}

function wrapCallbacks(names: readonly string[]): void {
  const functions = fs as unknown as Record<string, AnyFunction>
  for (const name of names) {
    const real = functions[name]!
    const wrapped = (...values: unknown[]) => {
      const action = actions.getStore()
      if (action === undefined) return real(...values)
      const error = action.fail(name, pathOf(action, values[0]))
      const done = values.pop() as (error: Error | null, value?: unknown) => void
      const callback: typeof done = (cause, ...results) => {
        if (name === 'open' && cause === null) action.descriptors.set(results[0] as number, String(values[0]))
        done(error ?? cause, ...results)
      }
      if (name === 'close') action.descriptors.delete(values[0] as number)
      if (error === undefined || name === 'close') return real(...values, callback)
      return void setImmediate(done, error)
    }
    functions[name] = likeReal(wrapped, real)
  }
}

function pathOf({ descriptors }: HookedAction, subject: unknown): string {
  return typeof subject === 'number' ? (descriptors.get(subject) ?? '') : String(subject)
}

/** With what hangs on the real function: `realpath.native`, what `promisify` makes of it. */
function likeReal(wrapped: AnyFunction, real: AnyFunction): AnyFunction {
  return Object.defineProperties(wrapped, Object.getOwnPropertyDescriptors(real))
}
