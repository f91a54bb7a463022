import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What every measurement runs in: a gateway, and a user's home with nothing in it. */
export interface Workbench {
  /** Base URL of the gateway. */
  readonly url: string
  /** A new folder, removed in the end. */
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  /** What cannot be measured here, and why: a sentence each. */
  readonly skipped: string[]
}

const launcher = join(import.meta.dirname, '../../bin/modelgate.js')

/** Words that start modelgate on the Node that runs this. */
export function modelgate(...args: string[]): string[] {
  return [process.execPath, launcher, ...args]
}

/** Words that start a baseline of `baselines/`. */
export function baseline(name: string, ...args: string[]): string[] {
  return [process.execPath, join(import.meta.dirname, 'baselines', `${name}.js`), ...args]
}

/** Where a text of this model is streamed from. */
export function contentUrl({ url }: Workbench, model: string): string {
  return `${url}/v1beta/models/${model}:streamGenerateContent?alt=sse`
}

/** The address that a process prints once it is there. */
export function printedUrl(server: ChildProcess): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    server.once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
    server.stdout!.once('data', (text: Buffer) => resolve(text.toString().trim()))
  })
}

/** Starts the gateway, measures, and cleans up whatever happens. */
export async function withWorkbench(measure: (workbench: Workbench) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-bench-'))
  const gateway = spawn(process.execPath, [join(import.meta.dirname, 'gateway-child.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const url = await printedUrl(gateway)
    const env = {
      PATH: process.env['PATH'],
      HOME: folder,
      XDG_CACHE_HOME: join(folder, 'cache'),
      MODELGATE_BASE_URL: url,
      MODELGATE_API_KEY: 'bench',
    }
    await measure({ url, folder, env, skipped: [] })
  } finally {
    gateway.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}
