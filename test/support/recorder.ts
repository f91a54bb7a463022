import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock, type Clock } from '../../src/context.ts'
import { createUpstream } from '../../src/gateway/upstream.ts'
import type { SandboxOptions } from '../../src/sandbox/start-sandbox.ts'
import { runningSandbox, type Json } from './running-sandbox.ts'
import { temporaryFolder } from './temporary-folder.ts'

interface RecorderOptions extends Partial<SandboxOptions> {
  readonly folder?: string
  /** The configured key; null for that of each caller. */
  readonly key?: string | null
  readonly clock?: Clock
}

export const upstreamKey = 'upstream-key-2f8a61c09d'

/** A sandbox that records a gateway; closed when the test ends. */
export async function recorder(
  upstreamUrl: string,
  { folder = temporaryFolder(), key = upstreamKey, clock = systemClock, ...options }: RecorderOptions = {},
) {
  /** What was reported. */
  const lines: string[] = []
  const gateway = { baseUrl: new URL(upstreamUrl), key: key ?? undefined }
  const upstream = createUpstream({ ...gateway, clock: systemClock, headers: {}, connectMs: 10_000 })
  const files = { cwd: folder, platform: process.platform, clock, signal: new AbortController().signal }
  const record = { folder, files, upstream, secrets: [], report: (line: string) => void lines.push(line) }
  const sandbox = await runningSandbox({ clock, ...options, recordings: { record } })
  return { ...sandbox, folder, lines }
}

/** A sandbox that answers from recordings; closed when the test ends. */
export async function replayer(
  folder: string,
  { pace = 'fast', ...options }: { pace?: 'fast' | 'real' } & Partial<SandboxOptions> = {},
) {
  const lines: string[] = []
  const replay = { folder, pace, report: (line: string) => void lines.push(line) }
  const sandbox = await runningSandbox({ ...options, recordings: { replay } })
  return { ...sandbox, folder, lines }
}

/** The names of the recordings in a folder, in order. */
export function recordingsIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
}

/** One recording, parsed. */
export function recordingAt(folder: string, index: number): Json {
  return JSON.parse(readFileSync(join(folder, recordingsIn(folder).at(index)!), 'utf8')) as Json
}

/** Everything that is in the files of a folder. */
export function textIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')
}
