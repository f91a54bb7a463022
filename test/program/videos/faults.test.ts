import { expect, test } from 'vitest'
import type { EndpointName } from '../../../src/sandbox/faults/fault-rule.ts'
import type { FaultRule } from '../../../src/sandbox/start-sandbox.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { videoWorkspace } from './video-run.ts'
import { sample } from '../../support/sample.ts'

interface Case {
  readonly fault: FaultRule
  readonly exit: number
  /** Jobs that the sandbox has begun. */
  readonly created: number
  /** What is on record in the end. */
  readonly record: 'none' | 'unknown' | 'completed' | 'running'
}

const commands = [
  {
    name: 'generate',
    words: ['generate', '-m', 'veo', '--duration-seconds', '1', '--wait', '-o', 'x.mp4', 'A boat'],
    create: 'video-operations',
    lookUp: 'operation-lookup',
    fetch: 'video-files',
  },
  {
    name: 'remix',
    words: [
      'remix',
      '-m',
      'video-model-remix',
      '--no-check',
      '--wait',
      '-o',
      'x.mp4',
      'video_sandbox_source',
      'Night',
    ],
    create: 'video-remix',
    lookUp: 'video-lookup',
    fetch: 'video-content',
  },
] as const

const done = { exit: 0, created: 1, record: 'completed' } as const
const lost = { created: 1, record: 'unknown' } as const
const never = { created: 0, record: 'none' } as const

const creations: readonly Case[] = [
  { fault: { action: 'status', status: 429, times: 1 }, ...done },
  { fault: { action: 'status', status: 503, times: 2 }, ...done },
  { fault: { action: 'status', status: 429 }, exit: 5, ...never },
  { fault: { action: 'status', status: 400 }, exit: 4, ...never },
  { fault: { action: 'status', status: 401 }, exit: 3, ...never },
  { fault: { action: 'status', status: 404 }, exit: 4, ...never },
  // Nobody can tell whether there is a job behind these.
  { fault: { action: 'status', status: 500 }, exit: 7, created: 0, record: 'unknown' },
  { fault: { action: 'status', status: 502 }, exit: 7, created: 0, record: 'unknown' },
  { fault: { action: 'html' }, exit: 8, created: 0, record: 'unknown' },
  { fault: { action: 'not-http' }, exit: 8, created: 0, record: 'unknown' },
  { fault: { action: 'error-200' }, exit: 9, ...never },
  { fault: { action: 'empty' }, exit: 8, ...lost },
  { fault: { action: 'reset' }, exit: 7, ...lost },
  { fault: { action: 'reset', at: 'after-headers' }, exit: 7, ...lost },
  { fault: { action: 'reset', at: 20 }, exit: 7, ...lost },
  { fault: { action: 'close', at: 20 }, exit: 7, ...lost },
  { fault: { action: 'short-length' }, ...done },
  { fault: { action: 'drip', size: 7, ms: 1 }, ...done },
  { fault: { action: 'bom' }, ...done },
  { fault: { action: 'keep-open' }, ...done },
  { fault: { action: 'content-type' }, ...done },
]

const lookUps: readonly Case[] = [
  { fault: { action: 'status', status: 500, times: 3 }, ...done },
  { fault: { action: 'status', status: 429, times: 1, headers: { 'retry-after': '20' } }, ...done },
  { fault: { action: 'html', times: 2 }, ...done },
  { fault: { action: 'empty', times: 2 }, ...done },
  { fault: { action: 'reset', times: 2 }, ...done },
  { fault: { action: 'reset', at: 5, times: 2 }, ...done },
  { fault: { action: 'not-http', times: 2 }, ...done },
  { fault: { action: 'error-200', times: 2 }, ...done },
  { fault: { action: 'status', status: 500 }, exit: 5, created: 1, record: 'running' },
  { fault: { action: 'status', status: 401 }, exit: 3, created: 1, record: 'running' },
]

const fetches: readonly Case[] = [
  { fault: { action: 'status', status: 500, times: 1 }, ...done },
  { fault: { action: 'status', status: 404, times: 1 }, ...done },
  { fault: { action: 'reset', times: 1 }, ...done },
  { fault: { action: 'reset', at: 5000, times: 1 }, ...done },
  { fault: { action: 'close', at: 5000, times: 2 }, ...done },
  { fault: { action: 'short-length', times: 1 }, ...done },
  { fault: { action: 'html' }, exit: 8, created: 1, record: 'completed' },
  { fault: { action: 'empty' }, exit: 8, created: 1, record: 'completed' },
  { fault: { action: 'status', status: 500 }, exit: 5, created: 1, record: 'completed' },
]

const rows = commands.flatMap((command) => {
  const at = (endpoint: EndpointName, cases: readonly Case[]) =>
    cases.map((one) => ({ command, ...one, fault: { endpoint, ...one.fault } }))
  return [...at(command.create, creations), ...at(command.lookUp, lookUps), ...at(command.fetch, fetches)]
})

const cases = rows.map((row) => {
  const { endpoint, action, status, at, times } = row.fault
  const name = [row.command.name, endpoint, action, status, at, times].filter(Boolean).join(' ')
  return [name, row] as const
})

test.each(sample(cases, { quick: 0.25, ci: Infinity }, ([name]) => name))(
  '%s',
  async (_, { command, fault, exit, created, record }) => {
    const sandbox = await runningSandbox({ faults: [fault], latency: 1 })
    const workspace = videoWorkspace(sandbox)
    const { code, out, err } = await workspace.run(command.words)
    const records = await workspace.records()
    // The sandbox's jobs begin by themselves, a moment later.
    const states = records.map(({ state }) => (/^(?:pending|in_progress)$/.test(state) ? 'running' : state))
    expect({ code, created: sandbox.created(), states }).toEqual({
      code: exit,
      created,
      states: record === 'none' ? [] : [record],
    })
    expect(sandbox.firedFaults().length).toBeGreaterThan(0)
    expect([out, workspace.files()]).toEqual(exit === 0 ? ['x.mp4\n', ['x.mp4']] : ['', []])
    const isLost = record === 'unknown'
    expect(isLost).toBe(records.some(({ id }) => id === null))
    // Whoever is left without a name gets the key, whoever has one the command that goes on.
    const told = records[0]?.[isLost ? 'idempotency_key' : 'id'] ?? ''
    expect(err).toContain(told)
  },
)
