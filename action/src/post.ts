/** The end of the job, also of one that was cancelled: publishes what the step could not, and saves what it has left. */
import { setFailed } from '@actions/core'
import { readInputs, takeSecrets, workspace } from './inputs.ts'
import { publish } from './publish.ts'
import { keptState } from './state.ts'
import { saveStore } from './store-cache.ts'

async function main(): Promise<void> {
  takeSecrets()
  const state = keptState()
  if (state === undefined) return
  process.chdir(workspace())
  // First what was paid for: a cancelled job has five minutes.
  if (state.save !== null) await saveStore(state.save, state.fingerprint)
  if (state.isUnpublished) await publish(readInputs(), state.program, state.folder ?? undefined)
}

try {
  await main()
} catch (error) {
  setFailed(error instanceof Error ? error.message : String(error))
}
