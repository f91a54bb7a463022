import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename } from 'node:path'

const compiled = new Map<string, Promise<WebAssembly.Module>>()

/**
 * The compiled WebAssembly module of a package: from beside the bundle, where the build puts it, or from the
 * installed package when the source is run. Compiled once.
 * @param path as one imports it: `@jsquash/png/codec/pkg/squoosh_png_bg.wasm`
 */
export function wasmModule(path: string): Promise<WebAssembly.Module> {
  let module = compiled.get(path)
  if (module === undefined) {
    module = compile(path)
    compiled.set(path, module)
  }
  return module
}

async function compile(path: string): Promise<WebAssembly.Module> {
  const beside = new URL(basename(path), import.meta.url)
  const file = existsSync(beside) ? beside : createRequire(import.meta.url).resolve(path)
  return WebAssembly.compile(await readFile(file))
}
