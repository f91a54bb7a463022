import { describe, expect, test } from 'vitest'
import type { Endpoint } from '../../../src/contract/field.ts'
import { imageCreateEndpoint, imageEditEndpoint } from '../../../src/contract/images.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { runMain } from '../../support/run-main.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { fieldRows, kindsOf, tiedRows, type RuleRow } from './rule-rows.ts'
import { silentGateway } from './silent-gateway.ts'
import { canaryKey } from '../../support/canary-key.ts'

const commands: readonly (readonly [string, Endpoint, readonly string[]])[] = [
  ['create', imageCreateEndpoint, ['image', 'create']],
  ['edit', imageEditEndpoint, ['image', 'edit', '--image', 'a.png']],
]

/** Runs calls against a gateway, and lists those that did not end as they should: one failure tells all of them. */
async function surprisesOf(
  url: string,
  calls: readonly { readonly name: string; readonly argv: readonly string[] }[],
  isRight: (index: number, code: number, err: string) => boolean,
): Promise<string[]> {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'a.png': pngBytes() })
  const env = { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: canaryKey() }
  const surprises: string[] = []
  for (const [index, { name, argv }] of calls.entries()) {
    const { code, err } = await runMain(argv, { env, cwd })
    if (!isRight(index, code, err)) surprises.push(`${name}: ${code} ${err.slice(0, 300)}`)
  }
  return surprises
}

/** The call for a row; a prompt is added where the row is about something else. */
function callFor(start: readonly string[], model: string, { words }: RuleRow): readonly string[] {
  const prompt = words.join(' ').includes('prompt=') ? [] : ['a dot']
  return [...start, '-m', model, '--no-stdin', ...words, ...prompt]
}

/** All that was not as it should be, on either side. */
interface Verdict {
  readonly byCommand: readonly string[]
  /** Calls of the command that reached the gateway although something was wrong. */
  readonly calls: number
  readonly bySandbox: readonly string[]
  readonly created: number
}

const asItShould: Verdict = { byCommand: [], calls: 0, bySandbox: [], created: 0 }

async function verdictOn(
  start: readonly string[],
  model: string,
  rows: readonly RuleRow[],
): Promise<Verdict> {
  const gateway = await silentGateway()
  const checked = rows.map((row) => ({
    name: row.name,
    // What is right is shown, not sent: that the sandbox takes it is a test of the sandbox.
    argv: [...callFor(start, model, row), ...(row.refused === undefined ? ['--dry-run'] : [])],
  }))
  const byCommand = await surprisesOf(gateway.url, checked, (index, code, err) => {
    const { refused } = rows[index]!
    if (refused === undefined) return code === 0
    return code === 2 && err.startsWith(`modelgate: ${refused} `)
  })
  const sandbox = await runningSandbox()
  const sent = rows
    .filter(({ refused }) => refused !== undefined)
    .map((row) => ({ name: row.name, argv: [...callFor(start, model, row), '--no-validate'] }))
  const bySandbox = await surprisesOf(sandbox.url, sent, (index, code) => {
    return code === 4 && sandbox.requests()[index]?.status === 400
  })
  return { byCommand, calls: gateway.calls, bySandbox, created: sandbox.created() }
}

describe.each(commands)('image %s', (_, endpoint, start) => {
  test.each(kindsOf(endpoint))('%s: every field at its boundary and one step past it', async (kind) => {
    const rows = fieldRows(endpoint, kind)
    expect(rows.filter(({ refused }) => refused === undefined).length).toBeGreaterThan(10)
    expect(rows.filter(({ refused }) => refused !== undefined).length).toBeGreaterThan(10)
    expect(await verdictOn(start, kind, rows)).toEqual(asItShould)
  })

  test('the rules that tie fields together', async () => {
    expect(await verdictOn(start, 'gpt-image-2', tiedRows)).toEqual(asItShould)
  })

  test('the models of other endpoints', async () => {
    const row = { name: 'sora-2', words: [], refused: '-m "sora-2" is of video-model-remix;' }
    expect(await verdictOn(start, 'sora-2', [row])).toEqual(asItShould)
  })
})

test('every family, and every field that has a limit, is in the tables', () => {
  expect(kindsOf(imageCreateEndpoint)).toEqual([
    'image-model-a',
    'image-model-a-mini',
    'image-model-b',
    'image-model-c',
    'gpt-image-2',
    'gpt-image-2.5-flare',
    'some-model',
  ])
  expect(kindsOf(imageEditEndpoint)).toEqual([
    'image-model-a',
    'image-model-a-mini',
    'image-model-b',
    'gpt-image-2',
    'gpt-image-2.5-flare',
    'some-model',
  ])
  for (const [, endpoint] of commands) {
    const named = fieldRows(endpoint, 'some-model').map(({ name }) => name.split(/[ ,]/)[0])
    const limited = Object.keys(endpoint.fields).filter((name) => name !== 'model' && name !== 'user')
    expect(new Set(named)).toEqual(new Set(limited))
  }
})
