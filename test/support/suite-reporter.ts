import { createHash } from 'node:crypto'
import type { TaskMeta } from 'vitest'
import type { Reporter, TestCase } from 'vitest/node'

/** What the quick tests may take, all of them and one file, in units of `timeUnit`: 172 s and 8 s where one takes 0.123 s. */
const budget = { all: 1_400, file: 65 }

/**
 * Says at what depth and with which seed tests run, and repeats it with each failure. In CI it says when the quick tests
 * take more processor time than their budget, and fails them when they take twice as much.
 * @param variablesOf of a project: `TEST_DEPTH=sample TEST_SEED=2026-11`
 */
export function suiteReporter(variablesOf: (project: string) => string): Reporter {
  const isCi = process.env['CI'] !== undefined
  let unit = 0
  return {
    onTestRunStart(specifications) {
      for (const name of new Set(specifications.map(({ project }) => project.name))) {
        console.log(`${name}: ${variablesOf(name)}`)
      }
      if (isCi) unit = Math.min(timeUnit(), timeUnit(), timeUnit())
    },
    onTestCaseResult(test) {
      if (test.result().state === 'failed') console.log(`Again: ${again(test, variablesOf)}`)
    },
    onTestRunEnd(modules) {
      if (!isCi || modules.some(({ project }) => project.name !== 'quick')) return
      const { user, system } = process.cpuUsage()
      const files = modules.map((module) => ({
        what: module.relativeModuleId,
        seconds: (module.meta() as TaskMeta).processorSeconds ?? 0,
        most: budget.file * unit,
      }))
      const all = files.reduce((sum, { seconds }) => sum + seconds, (user + system) / 1e6)
      const whole = { what: 'all quick tests, with what runs them', seconds: all, most: budget.all * unit }
      for (const { what, seconds, most } of [...files, whole]) {
        const isOver = seconds > most
        // Calls of the system slow down on a busy machine, by up to a half more than the unit shows.
        if (seconds > 2 * most) process.exitCode = 1
        if (!isOver && what !== whole.what) continue
        console.log(
          `${isOver ? 'OVER BUDGET: ' : ''}${what}: ${seconds.toFixed(1)} s of processor time, at most ${most.toFixed(0)} s here`,
        )
      }
    },
  }
}

function again({ module, project, fullName }: TestCase, variablesOf: (project: string) => string): string {
  const name = fullName.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll("'", "'\\''")
  return `${variablesOf(project.name)} npx vitest run --project ${project.name} ${module.relativeModuleId} -t '${name}'`
}

/** Processor time in seconds of a piece of work that is always the same: machines differ by a factor of two. */
function timeUnit(): number {
  const before = process.cpuUsage()
  let value: unknown = { words: Array.from({ length: 2_000 }, (_, at) => `word ${at}`) }
  const hash = createHash('sha256')
  for (let turn = 0; turn < 300; turn++) {
    const text = JSON.stringify(value)
    hash.update(text)
    value = JSON.parse(text.replaceAll(/\d+/g, (digits) => String((Number(digits) * 7 + turn) % 9_973)))
  }
  hash.digest()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}
