import { readdirSync } from 'node:fs'
import { expect } from 'vitest'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../support/canary-key.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import type { SandboxOptions } from '../../src/sandbox/start-sandbox.ts'
import { actionsServices } from './actions-services.ts'
import { release, runner, unpacked, type StepOptions } from './runner.ts'

/** A manifest of one picture for each name. */
export const manifestOf = (names: readonly string[]) => `
version: 1
lanes: { image: 1 }
jobs:
  icons:
    each: [${names.join(', ')}]
    image create: { model: gpt-image-2, prompt: 'A \${id}' }
    out: icons/\${id}.png
`

export const three = { 'modelgate.yaml': manifestOf(['anchor', 'boat', 'crane']) }

/** The third picture has to wait for a minute. */
export const busy = [
  { endpoint: 'image-generations', nth: 3, action: 'status', status: 429, headers: { 'retry-after': '60' } },
] as const

/** The event of a pull request from a repository of this name. */
export const pullRequest = (full_name: string) => ({ pull_request: { head: { repo: { full_name } } } })

/** A runner, a gateway, GitHub with a release, and a key that must not be seen. */
export async function scene(options: Partial<SandboxOptions> = {}) {
  const services = await actionsServices()
  const sandbox = await runningSandbox(options)
  const machine = runner()
  release(services)
  // It has nothing against any file.
  machine.install('gh', 'exit 0')
  machine.checkout(three)
  const key = canaryKey()
  /** A step that generates. */
  const start = (more: Partial<StepOptions> = {}) =>
    machine.step({
      services,
      ...more,
      with: { mode: 'generate', mirror: `${services.url}/releases`, 'api-key': key, ...more.with },
      env: { MODELGATE_BASE_URL: sandbox.url, ...more.env },
    })
  /** Step and end of the job, neither of which shows the key. */
  const job = async (more: Partial<StepOptions> = {}) => {
    const step = start(more)
    const main = await step.ended
    const post = await step.post()
    for (const { log, outputs, summary } of [main, post]) {
      // The runner takes the key from the log as soon as the line that masks it has come: nothing may come before.
      const [mask, ...rest] = log.split('\n')
      expect(mask).toBe(`::add-mask::${key.replaceAll('%', '%25')}`)
      expectNoKey('the log', rest.join('\n'), key)
      expectNoKey('the outputs', JSON.stringify(outputs), key)
      expectNoKey('the summary', summary, key)
    }
    expectNoKeyBelow(machine.root, key)
    for (const { bytes } of services.caches) expectNoKeyBelow(unpacked(bytes), key)
    for (const { name, bytes } of services.artifacts) expectNoKey(name, bytes, key)
    return { ...main, post }
  }
  /** The paths of all pictures of the checkout. */
  const pictures = () =>
    readdirSync(machine.workspace, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.png') && !path.includes('.modelgate'))
      .toSorted()
  return { services, sandbox, machine, key, start, job, pictures }
}
