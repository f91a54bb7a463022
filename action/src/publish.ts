import { DefaultArtifactClient } from '@actions/artifact'
import { info, notice, setOutput, warning } from '@actions/core'
import { appendFileSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { temporary, type Inputs } from './inputs.ts'
import { baseCommit, manifestFlags, programEnvironment } from './program-call.ts'
import { capture, type Words } from './programs.ts'

/**
 * Makes the contact sheet and uploads it, and the part of a shard, also of a run that failed. What goes wrong with that is
 * a warning: the result is there.
 * @param folder `.modelgate`
 */
export async function publish(inputs: Inputs, program: Words, folder: string | undefined): Promise<void> {
  const { shard, sandbox, report } = inputs
  const part = shard === null ? '' : `-${shard.index}-of-${shard.total}`
  const artifacts = new DefaultArtifactClient()
  if (report !== '') await tell(() => publishReport(artifacts, inputs, program, `${report}${part}.html`))
  if (folder !== undefined && part !== '') {
    const state = sandbox ? join(folder, 'sandbox', '.modelgate') : folder
    await tell(() => publishPart(artifacts, join(state, 'parts', part.slice(1)), `part${part}`))
  }
}

async function tell(work: () => Promise<void>): Promise<void> {
  await work().catch((error: Error) => warning(error.message))
}

/**
 * One file that opens in a browser, not in an archive. Of a pull request it shows what that changes, where its base is in the
 * checkout.
 */
async function publishReport(
  artifacts: DefaultArtifactClient,
  inputs: Inputs,
  program: Words,
  name: string,
): Promise<void> {
  const path = join(temporary(), name)
  const words: Words = [
    ...program,
    'run',
    'report',
    '--embed',
    '--force',
    `--output=${path}`,
    ...manifestFlags(inputs),
  ]
  // An error of it is told once, here.
  const env = { ...programEnvironment(''), GITHUB_ACTIONS: '' }
  const options = { cwd: inputs.cwd, env }
  // Git does not have the lock of the sandbox.
  const base = inputs.sandbox ? undefined : baseCommit()
  const compared = base === undefined ? undefined : await capture([...words, `--since=${base}`], options)
  if (compared?.isDone === false) {
    notice(`The contact sheet shows all assets, not only what the pull request changes: ${compared.text}`)
  }
  const { isDone, text } = compared?.isDone === true ? compared : await capture(words, options)
  if (!isDone) throw new Error(`There is no contact sheet: ${text}`)
  setOutput('report', path)
  const { id } = await artifacts.uploadArtifact(name, [path], temporary(), { skipArchive: true })
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_RUN_ID, GITHUB_STEP_SUMMARY } = process.env
  const url = `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/actions/runs/${GITHUB_RUN_ID}/artifacts/${id}`
  setOutput('report_url', url)
  info(`The contact sheet: ${url}`)
  if (GITHUB_STEP_SUMMARY) appendFileSync(GITHUB_STEP_SUMMARY, `\n[The contact sheet](${url})\n`)
}

async function publishPart(artifacts: DefaultArtifactClient, folder: string, name: string): Promise<void> {
  if (!existsSync(folder)) return
  setOutput('part', folder)
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  await artifacts.uploadArtifact(name, files, folder)
}
