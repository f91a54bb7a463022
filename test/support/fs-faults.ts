import promises, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

type Call = () => Promise<unknown>
type AsyncFunction = (...values: unknown[]) => Promise<unknown>

/** Stands between the program and the file system: gets each call's name and makes the call, or does not. */
export type FsHook = (name: string, call: Call) => Promise<unknown>

/**
 * Leads every `node:fs/promises` call of this process that changes or asks the file system through the hook.
 * For child processes of tests only: there is no way back.
 */
export async function hookFileSystem(hook: FsHook): Promise<void> {
  const handle = await promises.open(import.meta.filename)
  const methods = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  wrap(methods, ['read', 'write', 'sync', 'chmod', 'stat'], 'handle.', hook)
  const open = promises.open
  promises.open = async (...values) => {
    const opened = await open(...values)
    // Every handle has a method of its own for this.
    wrap(opened, ['close'], 'handle.', hook)
    return opened
  }
  wrap(promises, ['open', 'link', 'unlink', 'rename', 'stat', 'lstat', 'realpath', 'readdir'], '', hook)
  syncBuiltinESMExports()
}

function wrap(target: object, names: readonly string[], prefix: string, hook: FsHook): void {
  const functions = target as Record<string, AsyncFunction>
  for (const name of names) {
    const real = functions[name]!
    functions[name] = function wrapped(this: unknown, ...values: unknown[]) {
      return hook(prefix + name, () => real.apply(this, values))
    }
  }
}
