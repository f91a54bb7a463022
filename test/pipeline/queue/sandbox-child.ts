/** The gateway of a load test, in a process of its own. Tells what it has counted when it is asked. */
import { systemClock } from '../../../src/context.ts'
import { startSandbox, type SandboxOptions } from '../../../src/sandbox/start-sandbox.ts'

const options = JSON.parse(process.argv[2] ?? '{}') as Partial<SandboxOptions>
const sandbox = await startSandbox({ clock: systemClock, media: 'flat', ...options })
process.on('message', (asked) => process.send!(asked === 'created' ? sandbox.created() : sandbox.requests()))
process.on('disconnect', () => process.exit())
process.send!({ url: sandbox.url })
