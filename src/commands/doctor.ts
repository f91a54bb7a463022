import { arch } from 'node:os'
import type { Command } from 'commander'
import { sandboxFolder } from '../config/paths.ts'
import type { Settings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { AlreadyReported, exitCodes, ModelgateError, type ExitName } from '../errors.ts'
import type { Check, ChecksDocument } from '../events/checks.ts'
import { outputVersion } from '../events/version.ts'
import { createOutput } from '../output/create-output.ts'
import { createGate, type Gate } from '../output/gate.ts'
import { isProblem } from '../problems.ts'
import {
  skipped,
  type Finding,
  checkAnswer,
  checkBaseUrl,
  checkClock,
  checkKey,
  checkProxy,
  lookAtGateway,
  checkConfiguration,
  checkNode,
  checkTerminal,
  checkState,
} from './doctor/checks.ts'
import { checkLine, summaryLine } from '../output/check-line.ts'
import { addShared, type CommonOptions } from './shared/options/common-options.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { readSettings, sandboxKey } from './shared/gateway/open-gateway.ts'
import { homePath, printReport, tell } from './shared/call/print-document.ts'

const taken =
  'json jsonl sandbox profile baseUrl apiKeyFile caFile header allowHttp connectTimeout timeout messages'

const meanings = {
  timeout: 'limit for each request to the gateway (10)',
  sandbox: 'check the built-in gateway instead',
}

/** Seconds for each request, so that the whole takes a minute at most. */
const requestSeconds = 10

/** `modelgate doctor`: looks at everything that a call depends on. Costs nothing, and never fails to end. */
export function registerDoctor(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate doctor', 'what is wrong, and how to fix it'],
    ['modelgate doctor --sandbox', 'without a gateway'],
    ['modelgate doctor --json > report.json', 'for a bug report: no key, no prompt'],
  ])
  addShared(command, taken, meanings)
  command.action(async (_: unknown, self: Command) => examine(context, self.optsWithGlobals<CommonOptions>()))
}

/** @throws AlreadyReported with the exit code of the first check that failed */
async function examine(context: Context, options: CommonOptions): Promise<void> {
  const { json, jsonl, sandbox } = options
  const configured = await usableSettings(context, options)
  // With problems in the configuration nothing is asked, whatever the address.
  const running = sandbox && configured !== undefined ? await startOwnSandbox(context, configured) : undefined
  const settings = running === undefined ? configured : settingsOfSandbox(configured!, new URL(running.url))
  const gate = createGate(context)
  const mode = jsonl ? 'jsonl' : json ? 'json' : undefined
  const output = mode && createOutput(context, { mode, quiet: true, usage: false, gate })
  output?.event({ type: 'start', version: outputVersion, command: 'doctor', model: null })
  const checks: Check[] = []
  try {
    for await (const [name, finding] of findings(context, options, settings, gate)) {
      const check = withoutHome(context, { name, ...finding })
      checks.push(check)
      output?.event({ type: 'check-end', check })
      await output?.flush()
      if (output === undefined) {
        await printReport(context, gate, (styles, columns) => checkLine(check, styles, columns))
      }
    }
  } finally {
    await running?.close()
  }
  const document = documentOf(checks, context)
  await output?.end(document)
  if (output === undefined && configured?.quiet.value !== true) tell(context, summaryLine(checks))
  const failure = checks.find(({ verdict }) => verdict === 'failed')
  if (failure !== undefined) throw new AlreadyReported(errorOf(failure))
}

/** The checks in their order; each may depend on what those before it have found. */
async function* findings(
  context: Context,
  options: CommonOptions,
  settings: Settings | undefined,
  gate: Gate,
): AsyncGenerator<readonly [name: string, finding: Finding]> {
  const baseUrl = settings?.baseUrl.value
  yield ['Node', checkNode(context)]
  yield ['terminal', await checkTerminal(context)]
  yield ['configuration', await checkConfiguration(context, options)]
  yield ['state', await checkState(context)]
  const unusable = skipped('the configuration has problems')
  yield ['base URL', settings === undefined ? unusable : checkBaseUrl(settings)]
  yield ['proxy', checkProxy(context, baseUrl)]
  const key = await settings?.apiKey().catch((error: unknown) => {
    if (error instanceof ModelgateError) return error
    throw error
  })
  // A gateway that has seen the key before may give it back to a request without it.
  if (key !== undefined && !(key instanceof ModelgateError)) gate.hide(key.value)
  // What is asked goes to an address, also where that is the sandbox.
  const { sandbox: _, ...asked } = options
  const parts = settings && { context, options: asked, settings, gate }
  const look = parts && baseUrl && (await lookAtGateway(parts, baseUrl))
  yield ['gateway', look === undefined ? skipped('there is no base URL') : checkAnswer(look)]
  yield ['key', parts === undefined ? unusable : await checkKey(parts, key!, look)]
  yield ['clock', checkClock(look)]
}

/** Undefined for a configuration with problems. */
async function usableSettings(context: Context, options: CommonOptions): Promise<Settings | undefined> {
  try {
    const settings = await readSettings(context, options)
    const { timeout } = settings
    return { ...settings, timeout: { ...timeout, value: timeout.value ?? requestSeconds } }
  } catch (error) {
    if (isProblem(error)) return undefined
    throw error
  }
}

/** The settings with the sandbox as the gateway. */
function settingsOfSandbox(settings: Settings, url: URL): Settings {
  const source = 'the sandbox'
  return {
    ...settings,
    baseUrl: { ...settings.baseUrl, value: url, source },
    baseUrls: { ...settings.baseUrls, value: undefined },
    apiKey: async () => ({ value: sandboxKey, source, lastFour: '' }),
  }
}

async function startOwnSandbox(context: Context, settings: Settings) {
  const { startSandbox } = await import('../sandbox/start-sandbox.ts')
  return await startSandbox({
    clock: context.clock,
    platform: context.platform,
    latency: 'natural',
    folder: sandboxFolder(context),
    families: settings.families.value,
  })
}

/** Nobody's name belongs into a report. */
function withoutHome(context: Context, check: Check): Check {
  const { message, remedy } = check
  return {
    ...check,
    message: homePath(context, message),
    remedy: remedy === null ? null : homePath(context, remedy),
  }
}

function documentOf(checks: readonly Check[], { platform }: Context): ChecksDocument {
  const has = (verdict: Check['verdict']) => checks.some((check) => check.verdict === verdict)
  return {
    version: outputVersion,
    command: 'doctor',
    verdict: has('failed') ? 'failed' : has('warning') ? 'warning' : 'ok',
    program: __VERSION__,
    platform: `${platform} ${arch()}`,
    checks,
  }
}

function errorOf({ exit_code: code, message }: Check): ModelgateError {
  const exits = Object.keys(exitCodes) as ExitName[]
  const exit = exits.find((name) => exitCodes[name].code === code)!
  return new ModelgateError(exit, 'some_failed', message)
}
