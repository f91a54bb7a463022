/** The step itself: sets up, restores, runs, publishes. Its exit code is that of the program. */
import { setFailed, setOutput, warning } from '@actions/core'
import { readInputs, stateFolder, takeSecrets, workspace, type Mode, type Secrets } from './inputs.ts'
import { allowedMode, programEnvironment, runArguments } from './program-call.ts'
import { run } from './programs.ts'
import { publish } from './publish.ts'
import { setUp } from './set-up.ts'
import { keepState, type State } from './state.ts'
import { fingerprint, restoreStore, storeCache, type StoreCache } from './store-cache.ts'

/** The manifest or the call is wrong: there is nothing to report. */
const exitUsage = 2

async function main({ key, token }: Secrets): Promise<number> {
  process.chdir(workspace())
  const inputs = readInputs()
  const program = await setUp(inputs, token)
  setOutput('version', program.version)
  const mode = allowedMode(inputs)
  setOutput('mode', mode)
  if (mode === 'setup') return 0

  const folder = stateFolder(inputs)
  const cache = inputs.cache && folder !== undefined ? storeCache(inputs, folder) : undefined
  if (cache !== undefined) setOutput('cache_hit', await restore(cache, mode))
  const state: State = {
    program: program.words,
    folder: folder ?? null,
    save: mode === 'generate' ? (cache ?? null) : null,
    fingerprint: folder === undefined ? '' : fingerprint(folder),
    isUnpublished: true,
  }
  keepState(state)

  const env = programEnvironment(mode === 'generate' && !inputs.sandbox ? key : '')
  const { code, isCancelled } = await run([...program.words, ...runArguments(inputs, mode)], {
    cwd: inputs.cwd,
    env,
  })
  setOutput('exit_code', code)
  // There is no time left: the step at the end of the job does it.
  if (isCancelled) return code
  if (code !== exitUsage) await publish(inputs, program.words, folder)
  keepState({ ...state, isUnpublished: false })
  return code
}

/** @throws Error where a run could pay again for what is there, but could not be restored */
async function restore(cache: StoreCache, mode: Mode): Promise<boolean> {
  try {
    return await restoreStore(cache)
  } catch (error) {
    const { message } = error as Error
    if (mode === 'generate') {
      throw new Error(
        `${message} Nothing was generated, since it might be paid for twice. Run the job again; or, if nothing can be there, with cache: false`,
        { cause: error },
      )
    }
    warning(message)
    return false
  }
}

try {
  process.exitCode = await main(takeSecrets())
} catch (error) {
  setFailed(error instanceof Error ? error.message : String(error))
}
