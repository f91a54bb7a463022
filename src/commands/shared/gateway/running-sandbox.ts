import { get } from 'node:http'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { stateFolder } from '../../../config/paths.ts'
import type { Context } from '../../../context.ts'

/** Where a sandbox that runs as a server leaves its address, for `--sandbox --curl` in another shell. */
function addressFile(context: Context): string | undefined {
  const folder = stateFolder(context)
  return folder === undefined ? undefined : join(folder, 'sandbox-address')
}

/**
 * Notes the address of a sandbox. Nothing depends on it: a folder that cannot be written is no failure.
 * @returns removes the note, unless another sandbox has replaced it
 */
export async function noteSandbox(context: Context, url: string): Promise<() => Promise<void>> {
  const file = addressFile(context)
  if (file === undefined) return async () => {}
  await mkdir(dirname(file), { recursive: true })
    .then(() => writeFile(file, url))
    .catch(() => {})
  return async () => {
    if ((await noted(file)) === url) await rm(file, { force: true }).catch(() => {})
  }
}

const answerMs = 1000

/** The address of a sandbox that runs as a server and answers; undefined when there is none. */
export async function runningSandbox(context: Context): Promise<string | undefined> {
  const file = addressFile(context)
  const url = file === undefined ? undefined : await noted(file)
  if (url === undefined || !/^http:\/\/127\.0\.0\.1:\d+$/.test(url)) return undefined
  const request = get(`${url}/sandbox/stats`, { signal: context.signal })
  const timer = context.clock.timer(answerMs, () => request.destroy())
  const answered = new Promise<string | undefined>((resolve) => {
    request.once('response', ({ statusCode }) => resolve(statusCode === 200 ? url : undefined))
    request.once('error', () => resolve(undefined)).once('close', () => resolve(undefined))
  })
  return answered.finally(() => {
    timer.cancel()
    request.destroy()
  })
}

async function noted(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined)
}
