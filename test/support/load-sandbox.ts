import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { RequestRecord, SandboxOptions } from '../../src/sandbox/start-sandbox.ts'

export type LoadSandbox = Awaited<ReturnType<typeof startLoadSandbox>>

/** A sandbox in a process of its own. */
export async function startLoadSandbox(options: Partial<Omit<SandboxOptions, 'clock'>>) {
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
    /** What its process keeps in memory, without garbage, in MB. */
    held: () => ask<number>('held'),
    close: () => void child.kill(),
  }
}
