import { spawnSync } from 'node:child_process'
import { arch, cpus, loadavg, release, totalmem, type } from 'node:os'
import { readPage } from '../support/pages.ts'
import type { Json } from '../support/running-sandbox.ts'
import { tableOf, type Measurement } from './measurement.ts'

/** The clients that the baselines use. */
const clients = ['openai', '@google/genai']

/** What the numbers depend on. */
export function machineFacts() {
  const { version, devDependencies } = JSON.parse(readPage('package.json')) as Json
  const curl = spawnSync('curl', ['--version'], { encoding: 'utf8' }).stdout as string | null
  const [, curlVersion] = /^curl (\S+)/.exec(curl ?? '') ?? []
  const all = cpus()
  return {
    date: new Date().toISOString().slice(0, 10),
    processors: `${all.length} × ${all[0]?.model ?? 'unknown'}`,
    memory: `${Math.round(totalmem() / 1024 ** 3)} GiB`,
    system: `${type()} ${release()}, ${arch()}`,
    /** How many processes waited for a processor in the minute before. */
    load: Number(loadavg()[0]!.toFixed(1)),
    /** Of the programs that are compared. */
    versions: {
      modelgate: version,
      Node: process.versions.node,
      ...Object.fromEntries(clients.map((name) => [name, devDependencies[name]])),
      ...(curlVersion !== undefined && { curl: curlVersion }),
    },
  }
}

/**
 * The page of the documentation that has all measurements.
 * @param sections the measurements, by heading
 * @param skipped what could not be measured, a sentence each
 */
export function performancePage(
  sections: readonly (readonly [heading: string, measurements: readonly Measurement[]])[],
  facts: ReturnType<typeof machineFacts>,
  skipped: readonly string[],
): string {
  const missed = sections.flatMap(([, all]) => all).filter(({ isMet }) => !isMet)
  const versions = Object.entries(facts.versions).map(([name, version]) => `${name} ${version}`)
  const paragraphs = [
    '# Performance',
    'Each row is measured in turns with what it is compared with: the two run one after the other, again and again, and the figure is the ratio of the medians. The gateway is a local one that answers at once. Processes are measured from start to end, with warm caches; each has printed what it should before it counts.',
    '```text\nnpm run bench -- --write\n```',
    'makes this page. A bar is what a release must reach; rows without one are there to compare.',
    `${facts.date}, ${facts.processors}, ${facts.memory}, ${facts.system}; load before it began: ${facts.load}. ${versions.join(', ')}.`,
    ...(facts.load < 1 ? [] : ['**The machine was busy with other work: these numbers are rough.**']),
    ...(missed.length === 0
      ? ['Every bar is met.']
      : [
          'Missed in this run:',
          missed.map(({ name, figure, bar }) => `- ${name}: ${figure}, where the bar is ${bar}`).join('\n'),
        ]),
    ...skipped,
    ...sections.flatMap(([heading, measurements]) => [`## ${heading}`, tableOf(measurements)]),
  ]
  return `${paragraphs.join('\n\n')}\n`
}
