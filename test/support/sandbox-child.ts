/** The gateway of a load test, in a process of its own. Tells what it has counted when it is asked. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { systemClock } from '../../src/context.ts'
import { startSandbox, type SandboxOptions } from '../../src/sandbox/start-sandbox.ts'

const options = JSON.parse(process.argv[2] ?? '{}') as Partial<SandboxOptions>
const sandbox = await startSandbox({ clock: systemClock, ...options })
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
const answers = {
  created: () => sandbox.created(),
  requests: () => sandbox.requests(),
  held() {
    collectGarbage()
    const { heapUsed, external } = process.memoryUsage()
    return (heapUsed + external) / 1e6
  },
}
process.on('message', (asked: keyof typeof answers) => process.send!(answers[asked]()))
process.on('disconnect', () => process.exit())
process.send!({ url: sandbox.url })
