import { createHash } from 'node:crypto'
import type { TaskMeta } from 'vitest'
import type { Reporter, TestCase } from 'vitest/node'

/** What the quick tests may take, all of them and one file, in units of `timeUnit`: 155 s and 8 s where one takes 0.14 s. */
const budget = { all: 1_100, file: 57 }

/**
 * Says at what depth and with which seed tests run, and repeats it with each failure. In CI it names the files that take
 * longest, and fails the quick tests when they take more processor time than their budget.
 * @param variablesOf of a project: `TEST_DEPTH=quick TEST_SEED=2026-11`
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
      if (!isCi) return
      const files = modules
        .map((module) => ({
          name: module.relativeModuleId,
          seconds: (module.meta() as TaskMeta).processorSeconds ?? 0,
        }))
        .toSorted((a, b) => b.seconds - a.seconds)
      console.log('Processor time of files, in seconds:')
      for (const { name, seconds } of files.slice(0, 10))
        console.log(`${seconds.toFixed(1).padStart(8)}  ${name}`)
      if (modules.some(({ project }) => project.name !== 'quick')) return
      const { user, system } = process.cpuUsage()
      const all = files.reduce((sum, { seconds }) => sum + seconds, (user + system) / 1e6)
      console.log(
        `${all.toFixed(0).padStart(8)}  all of them, and what runs them: ${(all / unit).toFixed(0)} of ${budget.all} units of ${unit.toFixed(3)} s`,
      )
      const dear = files.filter(({ seconds }) => seconds > budget.file * unit)
      for (const { name, seconds } of dear)
        console.log(`OVER BUDGET: ${name}: ${seconds.toFixed(1)} s of ${(budget.file * unit).toFixed(1)} s`)
      if (all > budget.all * unit) console.log('OVER BUDGET: the quick tests')
      if (dear.length > 0 || all > budget.all * unit) process.exitCode = 1
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
