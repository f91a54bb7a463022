import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { getAsset, getRawAsset, isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'
import type { Worker, WorkerOptions } from 'node:worker_threads'

/** Inside the single executable, beside the bundle of the package, and where the source has it. */

const isSource = import.meta.url.endsWith('.ts')

/** @param path as one imports it: `@jsquash/png/codec/pkg/squoosh_png_bg.wasm` */
export async function readWasm(path: string): Promise<Uint8Array> {
  if (isSea()) return new Uint8Array(getRawAsset(basename(path)))
  const beside = new URL(basename(path), import.meta.url)
  return readFile(existsSync(beside) ? beside : createRequire(import.meta.url).resolve(path))
}

/** @param path below src/, without its ending; the builds have it under its last part */
export async function startThread(
  path: string,
  options: Omit<WorkerOptions, 'execArgv' | 'eval'>,
): Promise<Worker> {
  const { Worker } = await import('node:worker_threads')
  const name = basename(path)
  // An executable has no options itself. Given a list of them, even an empty one, Node adds those of NODE_OPTIONS.
  if (isSea()) return new Worker(getAsset(`${name}.thread.cjs`, 'latin1'), { ...options, eval: true })
  const file = new URL(isSource ? `../${path}.ts` : `${name}.cjs`, import.meta.url)
  return new Worker(file, { ...options, execArgv: [] })
}

/** @param name in completions/ */
export async function readCompletionScript(name: string): Promise<string> {
  if (isSea()) return getAsset(name, 'utf8')
  return readFile(new URL(`${isSource ? '../../' : '../'}completions/${name}`, import.meta.url), 'utf8')
}

const docsOnTheWeb = 'https://github.com/modelgate/modelgate/tree/main/docs'

/** Where the pages of docs/ are: in the package, else on the web. */
export function docsPlace(): string {
  if (isSea()) return docsOnTheWeb
  const folder = new URL(isSource ? '../../docs/' : '../docs/', import.meta.url)
  return existsSync(folder) ? fileURLToPath(folder) : docsOnTheWeb
}
