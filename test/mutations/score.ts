/**
 * Tries every small change that Stryker knows in the source files of `groups.ts`, prints the share that the tests
 * notice, and keeps it in `scores.json`. `node test/mutations/score.ts [--only GROUP]… [--night N]`, one group a night; ends with 1 when a group is
 * below the lowest score.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { Stryker } from '@stryker-mutator/core'
import { groups, type Group, type Unit } from './groups.ts'

type Options = NonNullable<ConstructorParameters<typeof Stryker>[0]>
type Result = Awaited<ReturnType<Stryker['runMutationTest']>>[number]

interface Score {
  readonly group: string
  readonly mutants: number
  /** Noticed by a failing test. */
  readonly killed: number
  /** Noticed because the tests did not end. */
  readonly timeouts: number
  readonly survived: number
  /** Survived because no test runs the code. */
  readonly uncovered: number
  /** Percent noticed, with one decimal place. */
  readonly score: number
  readonly date: string
}

const lowest = 85
const root = join(import.meta.dirname, '../..')
const scoresPath = join(import.meta.dirname, 'scores.json')

const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true, default: [] }, night: { type: 'string' } },
})
const only = values.night === undefined ? values.only : [groups[Number(values.night) % groups.length]!.name]
const unknown = only.filter((name) => !groups.some((group) => group.name === name))
if (unknown.length > 0) {
  console.error(
    `There is no group ${unknown.join(', ')}. There are: ${groups.map(({ name }) => name).join(', ')}`,
  )
  process.exit(1)
}

process.chdir(root)
const chosen = groups.filter(({ name }) => only.length === 0 || only.includes(name))
const scores: Score[] = []
for (const group of chosen) {
  const score = await scoreOf(group)
  scores.push(score)
  keep(score)
}
const shown = ['mutants', 'killed', 'timeouts', 'survived', 'uncovered', 'score'] as const
console.table(Object.fromEntries([...scores, whole(scores)].map((row) => [row.group, row])), [...shown])
const low = scores.filter(({ score }) => score < lowest)
for (const { group, score } of low) console.log(`${group}: ${score} % is below ${lowest} %`)
process.exitCode = low.length > 0 ? 1 : 0

async function scoreOf(group: Group): Promise<Score> {
  console.log(`\n${group.name}`)
  const results: Result[] = []
  for (const unit of group.units) results.push(...(await resultsOf(unit)))
  for (const result of results) if (hasSurvived(result)) console.log(describe(result))
  return count(group.name, results)
}

async function resultsOf({ files, tests }: Unit): Promise<Result[]> {
  process.env['MUTATION_TESTS'] = tests.join(',')
  const stryker = new Stryker({
    mutate: [...files],
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'test/mutations/vitest.config.ts', pool: 'forks', related: false },
    // It would change the paths in tsconfig.json with TypeScript's old interface, which version 7 no longer has.
    tsconfigFile: 'none.json',
    concurrency: 1,
    // Besides one and a half times what the tests take without a change.
    timeoutMS: 6_000,
    ignorePatterns: ['dist*', 'docs', 'man', 'completions', 'executable', 'action', 'examples', 'skills'],
    cleanTempDir: 'always',
    reporters: [],
    logLevel: 'error' as NonNullable<Options['logLevel']>,
  })
  const results = await stryker.runMutationTest()
  // Code that cannot be loaded at all says nothing about the tests.
  return results.filter(({ status }) => ['Killed', 'Timeout', 'Survived', 'NoCoverage'].includes(status))
}

function hasSurvived({ status }: Result): boolean {
  return status === 'Survived' || status === 'NoCoverage'
}

function count(group: string, results: readonly Result[]): Score {
  const having = (wanted: Result['status']) => results.filter(({ status }) => status === wanted).length
  const figures = {
    mutants: results.length,
    killed: having('Killed'),
    timeouts: having('Timeout'),
    survived: having('Survived'),
    uncovered: having('NoCoverage'),
  }
  return {
    group,
    ...figures,
    score: percent(figures),
    date: new Date().toISOString().slice(0, 10),
  }
}

function whole(scores: readonly Score[]): Score {
  const total = (field: 'mutants' | 'killed' | 'timeouts' | 'survived' | 'uncovered') =>
    scores.reduce((sum, score) => sum + score[field], 0)
  const figures = { mutants: total('mutants'), killed: total('killed'), timeouts: total('timeouts') }
  const rest = { survived: total('survived'), uncovered: total('uncovered') }
  return { group: 'all', ...figures, ...rest, score: percent(figures), date: '' }
}

function percent({ mutants, killed, timeouts }: Pick<Score, 'mutants' | 'killed' | 'timeouts'>): number {
  // Rounded down, so that what is too little never looks like enough.
  return Math.floor((1000 * (killed + timeouts)) / mutants) / 10
}

/** Replaces the group's row. */
function keep(score: Score): void {
  const others = (JSON.parse(readFileSync(scoresPath, 'utf8')) as Score[]).filter(
    ({ group }) => group !== score.group,
  )
  const place = ({ group }: Score) => groups.findIndex(({ name }) => name === group)
  const rows = [...others, score].sort((a, b) => place(a) - place(b)).map((row) => `  ${JSON.stringify(row)}`)
  writeFileSync(scoresPath, `[\n${rows.join(',\n')}\n]\n`)
}

function describe(result: Result): string {
  const short = (text = '') => text.replace(/\s+/g, ' ').slice(0, 110)
  const about = result.status === 'NoCoverage' ? ' (no test runs it)' : ''
  const place = `${fileOf(result)}:${result.location.start.line}`
  return `  ${place} ${result.mutatorName}${about}\n    ${short(originalOf(result))}\n    ${short(result.replacement)}`
}

function fileOf({ fileName }: Result): string {
  return relative(root, fileName).replaceAll('\\', '/')
}

/** The text that the change replaces. */
function originalOf({ fileName, location: { start, end } }: Result): string {
  const lines = readFileSync(fileName, 'utf8')
    .split('\n')
    .slice(start.line - 1, end.line)
  const last = lines.length - 1
  lines[last] = lines[last]!.slice(0, end.column - 1)
  lines[0] = lines[0]!.slice(start.column - 1)
  return lines.join('\n')
}
