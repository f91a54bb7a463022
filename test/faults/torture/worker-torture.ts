import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { asModelgateError, ModelgateError } from '../../../src/errors.ts'
import { seededRandom } from '../../../src/sandbox/seeded-random.ts'
import { isAnswer, resultFrom, type Outcome } from '../../../src/pipeline/queue/message.ts'
import { passing, recordingClock } from '../../program/start-program.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import type { LocalServer, ReceivedRequest } from '../../support/local-server.ts'
import { instanceOf, textField } from '../../support/pipeline-task.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { calls } from '../calls.ts'
import { gatewayFor } from '../perform-call.ts'
import { memoryWorkers } from '../../pipeline/queue/memory-workers.ts'
import { filesBelow, inCopy, torture, type Fault } from './perform-case.ts'
import { faultsOf, type ChooseFaults } from './torture.ts'

/** A task, and the call that sends the same. */
const tasks = [
  ['generate', 'some-model', 'Say hello.', 'x.txt', 'run, a text'],
  ['image create', 'gpt-image-2', 'A boat', 'x.png', 'run, an image'],
  ['video generate', 'veo', 'A boat', 'x.mp4', 'run, a video'],
] as const
const workerCalls = tasks.map(([command, model, prompt, output, like]) => {
  const { exchanges, leaves } = calls.find(({ name }) => name === like)!
  const task = instanceOf({ command, model, fields: { prompt: textField(prompt) }, output })
  return { name: `run worker, ${command}`, task, exchanges, content: leaves.files[output]! }
})
type WorkerTask = (typeof workerCalls)[number]
let runs = 0

/** Lets calls of a worker to the system fail in turn. Then another worker of the same machine takes up what there is. */
export function testWorkerTorture(choose: ChooseFaults): void {
  test.each(workerCalls.map((call) => [call.name, call] as const))(
    'calls that fail: %s',
    { timeout: 600_000 },
    async (_, call) => {
      const server = await gatewayFor(call)
      const template = temporaryFolder()
      const golden = await inCopy(template, 0, (home) => performTask(call, home, server))
      expect([golden.problems, golden.state]).toEqual([[], 'done'])
      const faults = choose(faultsOf(golden), call.name)
      const problems: string[] = []
      for (const [number, fault] of faults.entries()) {
        const end = await inCopy(template, number, (home) => performTask(call, home, server, fault))
        const where = `${fault.port} ${fault.at} ${JSON.stringify(end.failed)}`
        problems.push(...end.problems.map((problem) => `${where}: ${problem}`))
      }
      expect(problems).toEqual([])
    },
  )
}

/** Runs a worker, one of whose calls to the system fails, and then another one. */
async function performTask(
  { task, exchanges, content }: WorkerTask,
  home: string,
  server: LocalServer,
  fault?: Fault,
) {
  const begun = server.requests.length
  const clock = recordingClock(fakeClock({ random: seededRandom('torture', runs++) }))
  const bench = await memoryWorkers(clock, home)
  const id = await bench.submit(task)
  const work = async (own: number) => {
    // Each is dead once it has ended, whatever it could not remove.
    const processes = { own, isRunning: (other: number) => other === own }
    const gateway = { onRetry() {} }
    const { ended, warnings } = bench.work(server.url, { untilEmpty: true }, { gateway, processes })
    const isOver = Promise.allSettled([ended]).then(() => 0)
    await passing(clock, isOver, () => '').passWaits()
    const reason = await ended.catch((error: unknown) => error)
    return { reason: reason && asModelgateError(reason, false), warnings: warnings() }
  }
  const { ended: first, ...seen } = await torture(home, () => work(2 ** 30), fault)
  const second = fault === undefined ? first : await work(2 ** 30 + 1)
  const { outcome } = bench.stateOf(id)
  const state = !bench.isOver(id)
    ? 'waiting'
    : outcome?.kind === 'result'
      ? 'done'
      : outcome === null || !isAnswer(outcome)
        ? 'unknown'
        : 'failed'

  const problems: string[] = []
  const found = (isWrong: boolean, what: string) => void (isWrong && problems.push(what))
  found(first === undefined, 'it hangs')
  found(seen.leftOpen.length > 0, `left open: ${seen.leftOpen.join()}`)
  const errors = [first?.reason, second?.reason, errorOf(outcome)]
  const said = [...(first?.warnings ?? []), ...(second?.warnings ?? [])]
  for (const error of errors.filter((one) => one instanceof ModelgateError)) {
    found(error.exit === 'bug', `a bug: ${error.message}`)
    said.push(error.message)
  }
  const words = said.join(' ')
  found(/injected|\[object/.test(words), 'not in plain words')
  const paid = exchanges.filter(({ role }) => role === 'text' || role === 'creation')
  const isPaid = ({ line, complete }: ReceivedRequest) => complete && paid.some(({ asks }) => asks.test(line))
  const made = server.requests.slice(begun).filter(isPaid).length
  found(made > 1, `created ${made} times`)
  const files = Object.entries(filesBelow(home))
  if (state === 'done' && outcome?.kind === 'result') {
    await bench.store.fetch(outcome.result.outputs[0]!.sha256, join(home, 'fetched'))
    found(!readFileSync(join(home, 'fetched')).equals(content), 'the store holds something else')
    // A film that could not be read back was fetched again.
    const left = files.filter(([path]) => /\.mgpart$|^machine\/workers\/(?!kept\/)/.test(path))
    found(left.length > 0, `left behind: ${left.map(([path]) => path).join()}`)
  } else if (seen.failed?.port === 'file') {
    found(state !== 'unknown', `${state}, for a file`)
    const isKept = files.some(([path, bytes]) => path.startsWith('machine/') && bytes.equals(content))
    found(made > 0 && !isKept, 'what was paid for is dropped')
  } else found(state !== 'failed' && state !== 'unknown', state)
  return { ...seen, state, problems: problems.map((problem) => `${problem}: ${state}. ${words}`) }
}

/** The error that a task has ended with. */
function errorOf(outcome: Outcome | null): ModelgateError | undefined {
  try {
    if (outcome !== null) resultFrom(outcome)
    return undefined
  } catch (error) {
    return asModelgateError(error, false)
  }
}
