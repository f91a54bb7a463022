import { spawn } from 'node:child_process'
import { hasCurl } from './peers.ts'
import type { Measurement } from './measurement.ts'
import { median } from './timing.ts'
import { modelgate, type Workbench } from './workbench.ts'

const bar = 1
const turns = 3

/** What is added between the server's write and standard output, over curl -N; none where there is no curl. */
export async function measureLatency(workbench: Workbench): Promise<Measurement[]> {
  if (!hasCurl(workbench)) return []
  const url = `${workbench.url}/v1beta/models/bench-paced:streamGenerateContent?alt=sse`
  const curl = ['curl', '-N', '-s', '-d', '{}', url]
  const words = modelgate('generate', '-m', 'bench-paced', 'Name rivers')
  const runs = { ours: [] as number[], baseline: [] as number[] }
  for (let turn = 0; turn < turns; turn++) {
    runs.ours.push(...(await delaysOf(workbench, words)))
    runs.baseline.push(...(await delaysOf(workbench, curl)))
  }
  const [ours, baseline] = [median(runs.ours), median(runs.baseline)]
  const added = ours - baseline
  return [
    {
      name: 'delay of a word / curl -N',
      unit: 'ms',
      ours,
      baseline,
      figure: `${added < 0 ? '' : '+'}${added.toFixed(2)} ms`,
      bar: `<= +${bar} ms`,
      isMet: added <= bar,
      runs,
    },
  ]
}

/** Milliseconds from the server's write of each word to its arrival here. */
async function delaysOf(
  { env, folder }: Workbench,
  [program, ...args]: readonly string[],
): Promise<number[]> {
  const child = spawn(program!, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const delays: number[] = []
  let rest = ''
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (text: string) => {
    const now = process.hrtime.bigint()
    rest += text
    for (const [, written] of rest.matchAll(/at=(\d+);/g)) delays.push(Number(now - BigInt(written!)) / 1e6)
    rest = rest.slice(rest.lastIndexOf(';') + 1)
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0 || delays.length === 0) {
    throw new Error(`${program} ended with ${code} after ${delays.length} words`)
  }
  return delays
}
