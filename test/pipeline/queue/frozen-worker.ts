import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { pngBytes } from '../../support/image-bytes.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { runBench } from '../run/run-bench.ts'
import { queueBench } from './queue-bench.ts'

export const manifests = {
  text: '{ respond: { model: text-a, input: Name a boat }, on_unknown: stop, out: out.txt }',
  edit: '{ image edit: { model: image-a, prompt: At night, image: in.png }, out: out.png }',
  video: '{ video generate: { model: veo-3.1, prompt: A harbour }, out: out.mp4 }',
} as const
export type Kind = keyof typeof manifests

/**
 * Stops a worker with SIGSTOP before a step, until another one has found its lock to be over and the run has ended;
 * then it goes on, and the next run takes what there is. Or kills it there, and the other one is of the same machine.
 * @param at the number of the step, or its name
 * @returns undefined where it had fewer steps; else how the run ended that waited meanwhile, and the next one
 */
export async function haltAt(url: string, kind: Kind, at: number | string, isKilled: boolean) {
  const manifest = `version: 1\njobs:\n  it: ${manifests[kind]}\n`
  const bench = await runBench({ 'modelgate.yaml': manifest })
  writeFiles(bench.folder, { 'in.png': pngBytes({ width: 64, height: 64 }) })
  const queue = await queueBench(url, bench.sandbox.url)
  const machine = temporaryFolder()
  const args = [url, bench.sandbox.url, queue.storeFolder, machine, `${at}`]
  const child = fork(join(import.meta.dirname, 'frozen-worker-child.ts'), args)
  onTestFinished(() => void child.kill('SIGKILL'))
  const begun = Promise.withResolvers<void>()
  const frozen = Promise.withResolvers<string>()
  child.once('exit', (code) => begun.reject(new Error(`The worker ended with ${code}.`)))
  let over = Promise.withResolvers<void>()
  child.on('message', (message: 'begun' | 'over' | { readonly frozen: string }) => {
    if (message === 'begun') begun.resolve()
    else if (message === 'over') over.resolve()
    else frozen.resolve(message.frozen)
  })
  await begun.promise
  const running = bench.run({}, { queue: queue.call })
  const step = await Promise.race([frozen.promise, running.then(() => undefined)])
  if (step === undefined) {
    child.kill('SIGKILL')
    return undefined
  }
  over = Promise.withResolvers()
  if (isKilled) {
    const died = once(child, 'exit')
    child.kill('SIGKILL')
    await died
  }
  const other = queue.work(isKilled ? machine : temporaryFolder())
  const first = await running
  child.kill('SIGCONT')
  if (!isKilled) await over.promise
  const next = await bench.run({}, { queue: queue.call })
  await other.stop()
  child.kill('SIGKILL')
  return { step, exits: [first.exit, next.exit], created: bench.sandbox.created() }
}
