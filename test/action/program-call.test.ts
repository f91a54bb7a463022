import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readInputs, stateFolder } from '../../action/src/inputs.ts'
import { allowedMode, runArguments } from '../../action/src/program-call.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { manifestOf, pullRequest } from './scene.ts'

/** A checkout in which a step has these inputs, for an event. */
function checkout(given: Readonly<Record<string, string>> = {}, event: object = {}): string {
  const folder = temporaryFolder()
  writeFiles(folder, {
    'event.json': JSON.stringify(event),
    'repo/modelgate.yaml': manifestOf(['boat']),
    'repo/a/b/c': '',
  })
  onTestFinished(() => void vi.unstubAllEnvs())
  vi.stubEnv('GITHUB_WORKSPACE', join(folder, 'repo'))
  vi.stubEnv('GITHUB_EVENT_PATH', join(folder, 'event.json'))
  vi.stubEnv('GITHUB_REPOSITORY', 'shop/site')
  for (const [name, value] of Object.entries(given)) vi.stubEnv(`INPUT_${name.toUpperCase()}`, value)
  return join(folder, 'repo')
}

test('all mistakes are told at once', () => {
  const folder = checkout({ 'working-directory': 'nowhere' })
  expect(readInputs).toThrow(`working-directory: there is no folder ${folder}/nowhere.`)
  checkout({ mode: 'make', shard: '3', cache: 'perhaps', 'working-directory': '.' })
  expect(readInputs).toThrow(
    'mode must be frozen, check, plan, generate, setup, not "make".\n' +
      'shard must be a part and the number of parts, such as 2/5, not "3".\n' +
      'cache must be true, false, not "perhaps".',
  )
})

test('the manifest is the nearest one above the folder, inside the checkout', () => {
  const folder = checkout({ 'working-directory': 'a/b' })
  expect(stateFolder(readInputs())).toBe(join(folder, '.modelgate'))
  vi.stubEnv('INPUT_MANIFEST', '../../../modelgate.yaml')
  expect(stateFolder(readInputs())).toBeUndefined()
})

test.each<[Record<string, string>, 'frozen' | 'check' | 'plan' | 'generate', string[]]>([
  [{}, 'frozen', ['run', '--frozen']],
  [{ sandbox: 'true', shard: '1/2' }, 'generate', ['run', '--generate', '--sandbox', '--shard=1/2']],
  [{ jobs: ' --generate\r\n\n--\n' }, 'check', ['run', '--check', '--', '--generate', '--']],
  // A value cannot be taken for a flag.
  [
    { manifest: '--sandbox', 'max-creates': '--yes', 'max-cost': '-1 --yes', timeout: '--debug' },
    'plan',
    ['run', '--plan', '--file=--sandbox', '--max-creates=--yes', '--max-cost=-1 --yes', '--timeout=--debug'],
  ],
  // Where nothing is made there is nothing to limit.
  [{ 'max-creates': '2', 'max-cost': '1' }, 'check', ['run', '--check']],
])('the inputs %j are in the mode %s the words %j', (given, mode, words) => {
  checkout(given)
  expect(runArguments(readInputs(), mode)).toEqual(words)
})

const mallory = { full_name: 'mallory/site' }

test.each<[string, object, string, string]>([
  ['a push', {}, 'octocat', 'generate'],
  ['a pull request of the repository itself', pullRequest('shop/site'), 'octocat', 'generate'],
  ['a fork', pullRequest('mallory/site'), 'octocat', 'frozen'],
  ['a fork that is gone', { pull_request: { head: { repo: null } } }, 'octocat', 'frozen'],
  ['Dependabot', {}, 'dependabot[bot]', 'frozen'],
  ['a run of a fork', { workflow_run: { head_repository: mallory } }, 'octocat', 'frozen'],
])('for %s the mode is allowed or not', (_, event, actor, mode) => {
  checkout({}, event)
  vi.stubEnv('GITHUB_ACTOR', actor)
  const told = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  onTestFinished(() => void told.mockRestore())
  expect(allowedMode({ mode: 'generate', sandbox: false })).toBe(mode)
  expect(allowedMode({ mode: 'generate', sandbox: true })).toBe('generate')
})
