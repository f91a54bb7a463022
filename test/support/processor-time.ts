import { existsSync, readFileSync } from 'node:fs'
import { afterAll } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Of a test file: processor time of the worker and its children meanwhile, in seconds. */
    processorSeconds?: number
  }
}

const stat = '/proc/self/stat'

/** Of this process, and of its children that have ended where the system tells it. @returns seconds */
export function processorTime(): number {
  if (!existsSync(stat)) {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  // Behind the name, which may hold blanks; in hundredths.
  const fields = readFileSync(stat, 'latin1').split(') ').at(-1)!.split(' ')
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / 100
}

const begun = processorTime()
// oxlint-disable-next-line no-empty-pattern -- Vitest wants an object there.
afterAll(({}, file) => void (file.meta.processorSeconds = processorTime() - begun))
