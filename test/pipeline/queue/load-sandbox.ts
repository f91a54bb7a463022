import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { RequestRecord, SandboxOptions } from '../../../src/sandbox/start-sandbox.ts'

/** A sandbox in a process of its own. */
export interface LoadSandbox {
  readonly url: string
  readonly pid: number
  created(): Promise<number>
  requests(): Promise<readonly RequestRecord[]>
  /** What its process keeps in memory, without garbage, in MB. */
  held(): Promise<number>
  close(): void
}

export async function startLoadSandbox(
  options: Partial<Omit<SandboxOptions, 'clock'>>,
): Promise<LoadSandbox> {
  const file = fileURLToPath(new URL('sandbox-child.ts', import.meta.url))
  const child = fork(file, [JSON.stringify(options)])
  const next = async () => ((await once(child, 'message')) as [unknown])[0]
  const { url } = (await next()) as { readonly url: string }
  // One question after the other: answers have no names.
  let last: Promise<unknown> = Promise.resolve()
  const ask = <Answer>(question: 'created' | 'requests' | 'held') => {
    const answer = last.then(() => {
      const came = next()
      child.send(question)
      return came as Promise<Answer>
    })
    last = answer
    return answer
  }
  return {
    url,
    pid: child.pid!,
    created: () => ask<number>('created'),
    requests: () => ask<readonly RequestRecord[]>('requests'),
    held: () => ask<number>('held'),
    close: () => void child.kill(),
  }
}
