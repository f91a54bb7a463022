import type { Command } from 'commander'
import { editUserFile } from '../config/edit-config.ts'
import { credentialsPath, lastFour } from '../config/key.ts'
import type { Context } from '../context.ts'
import { AlreadyReported, asModelgateError, exitCodes, Interrupted, UsageError } from '../errors.ts'
import { outputVersion } from '../events/version.ts'
import type { InitDocument } from '../events/setting.ts'
import { collectingSink } from '../output/collecting-sink.ts'
import { reportError } from '../output/create-output.ts'
import { createGate } from '../output/gate.ts'
import { writeHelp, formatRows, headingLine, type HelpRow } from '../output/help-page.ts'
import { overridden, planChanges, writeAnswers, type Answers } from './init/apply-answers.ts'
import { answerBaseUrl } from './init/ask-gateway.ts'
import { answerKey, type KeyAnswer } from './init/ask-key.ts'
import { answerModel } from './init/choose-models.ts'
import { openSession, type InitOptions, type Session } from './init/session.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { askYesNo } from './shared/input/questions.ts'
import { type RunCommand, addShared } from './shared/options/common-options.ts'
import { ownSettings } from './shared/options/own-settings.ts'
import { printDocument, homePath } from './shared/call/print-document.ts'
import { shellWord } from '../files/file-error.ts'
import { wrap } from '../output/line-breaks.ts'

const taken = 'profile baseUrl apiKeyFile caFile header allowHttp connectTimeout timeout json dryRun messages'

const meanings = {
  baseUrl: 'address of the gateway; it is contacted right away',
  apiKeyFile: 'file that holds the key, named in the configuration; "-" stores the key on standard input',
  profile: 'profile to set up, new or existing (default)',
  caFile: 'certificate authority to trust (PEM), saved in the configuration',
  allowHttp: 'allow an http:// address on another host, saved in the configuration',
  dryRun: 'send and write nothing; show what would be written',
  timeout: 'limit for each request to the gateway (15)',
}

/**
 * `modelgate init`: sets up gateway, key and models; run again, it changes them.
 * @param run runs another command of the program
 */
export function registerInit(command: Command, context: Context, run: RunCommand): void {
  addExamples(command, [
    ['modelgate init', 'asks for all that is needed'],
    [
      'modelgate init --base-url https://HOST --api-key-file key.txt --text-model MODEL',
      'asks for what is left',
    ],
    ['pass show gateway | modelgate init --yes --base-url https://HOST --api-key-file -', 'in a script'],
    ['modelgate init --profile work', 'one gateway among several'],
  ])
  command
    .option('--text-model <id>', 'default model for text; "-" for none')
    .option('--image-model <id>', 'default model for images; "-" for none')
    .option('--video-model <id>', 'default model for videos; "-" for none')
    .option('--test', 'make a test call, which may be billed')
    .option('--no-test', 'make none')
    .option('--no-check', 'do not check that the gateway answers and accepts the key')
    .option('-y, --yes', 'ask nothing: keep every setting that has no flag')
  addShared(command, taken, meanings)
  command.action(async (_: unknown, self: Command) => {
    await setUp(context, self.optsWithGlobals<InitOptions>(), run)
  })
}

async function setUp(context: Context, options: InitOptions, run: RunCommand): Promise<void> {
  const gate = createGate(context)
  const settings = await ownSettings(context, options)
  const session = openSession(context, options, settings, gate)
  const { asks, say } = session
  if (!asks) await refuseMissing(session)
  // Nobody should answer questions for a file that cannot be written.
  if (!options.dryRun) await editUserFile(context, [])
  const { answers, plan } = await underSignal('Nothing was written.', async () => {
    if (asks) await say(greeting, 'dim')
    const gateway = await answerBaseUrl(session)
    const { key, check } = await answerKey(session, gateway)
    const listed = check?.verdict === 'lists' ? check.models : []
    const text = await answerModel(session, 'text', listed)
    const image = await answerModel(session, 'image', listed)
    const video = await answerModel(session, 'video', listed)
    const answers: Answers = { gateway, key, check, models: { text, image, video } }
    return { answers, plan: await planChanges(session, answers) }
  })
  const { gateway, key, check, models } = answers
  const isPlan = options.dryRun === true
  const written = isPlan ? plan.files : await writeAnswers(session, plan, key)
  const { warnings, testExit } = await underSignal('The answers are written.', async () => {
    const warnings = isPlan ? [] : await overridden(session, answers)
    for (const warning of warnings) await say(`warning: ${warning}`, 'warning')
    return { warnings, testExit: isPlan ? null : await offerTest(session, run, models.text) }
  })
  const document: InitDocument = {
    version: outputVersion,
    command: 'init',
    profile: settings.profile.value,
    base_url: gateway.baseUrl.href.replace(/\/$/, ''),
    gateway: check?.verdict ?? null,
    key: await keyFacts(session, key),
    models: { text: models.text ?? null, image: models.image ?? null, video: models.video ?? null },
    changed: Object.keys(plan.values),
    written: [...written],
    test_exit_code: testExit?.exitCode ?? null,
    completion: null,
    warnings,
  }
  if (options.json) {
    await printDocument(context, options, document, () => '', { quiet: settings.quiet.value, gate })
  } else {
    if (asks) await say('')
    writeHelp(context, gate.text(report(context, document, isPlan)))
  }
  if (testExit?.failure !== undefined) throw testExit.failure
}

/** Runs a part of the whole. @throws what it throws; an Interrupted says how far it had come */
async function underSignal<Value>(state: string, part: () => Promise<Value>): Promise<Value> {
  try {
    return await part()
  } catch (error) {
    throw error instanceof Interrupted ? error.amend({ message: `${error.message} ${state}` }) : error
  }
}

const greeting =
  'This sets up modelgate: gateway, key and models. Ctrl-C leaves; nothing is written until the models are chosen.'

/**
 * Where nobody can be asked, what has no answer yet is an error.
 * @throws UsageError naming each flag
 */
async function refuseMissing({ options, settings }: Session): Promise<void> {
  const hasKey =
    options.yes || options.apiKeyFile !== undefined || (await settings.keyLocation()) !== undefined
  const missing = [
    ...(options.baseUrl === undefined && settings.baseUrl.value === undefined
      ? ['The address of the gateway is missing: pass --base-url URL.']
      : []),
    ...(hasKey
      ? []
      : ['The key is missing: pass --api-key-file FILE, or - to store the one on standard input.']),
  ]
  if (missing.length === 0) return
  throw new UsageError(missing, {
    code: 'not_confirmed',
    hint: hasKey
      ? 'On a terminal, modelgate init asks for it.'
      : 'On a terminal, modelgate init asks for it. With --yes the key may be left to MODELGATE_API_KEY.',
  })
}

/** As few words as an answer can have. */
const prompt = 'Answer with one word: hello'
/** Characters of the answer that are shown. */
const shownLength = 100

interface TestCall {
  readonly exitCode: number
  /** Reported already; undefined when the call went well. */
  readonly failure: AlreadyReported | undefined
}

/** Makes one call with the new configuration, as it would be typed, and tells how it ended; null for no call. */
async function offerTest(
  session: Session,
  run: RunCommand,
  model: string | undefined,
): Promise<TestCall | null> {
  const { context, options, settings, gate, asks, say } = session
  if (options.test === false || (model === undefined && options.test !== true)) return null
  if (model === undefined) {
    await say('No test call: there is no model for text.', 'warning')
    return null
  }
  const question = `Make a test call to ${model}? It may be billed, for a few tokens.`
  if (options.test !== true && !(asks && (await askYesNo(context, question, true)))) return null
  const { value: profile } = settings.profile
  const argv = ['generate', '--profile', profile, '-m', model, '--no-stdin', '--no-input', prompt]
  await say(`$ modelgate generate -m ${model} "${prompt}"`, 'accent')
  // Standard output belongs to the report.
  const answer = collectingSink()
  let failure: AlreadyReported | undefined
  try {
    await run(argv, { ...context, stdout: answer.sink })
  } catch (error) {
    failure = error instanceof AlreadyReported ? error : await reported(context, error)
  }
  const exitCode = failure?.exitCode ?? 0
  const { meaning, advice } = Object.values(exitCodes).find(({ code }) => code === exitCode) ?? exitCodes.bug
  if (exitCode === 0) await say(`  ${gate.line(answer.text().trim(), shownLength)}`)
  const next = advice === '' ? '' : `: ${advice}`
  await say(`  exit code ${exitCode}: ${meaning}${next}`, exitCode === 0 ? 'success' : 'warning')
  return { exitCode, failure }
}

async function reported(context: Context, error: unknown): Promise<AlreadyReported> {
  const failure = asModelgateError(error, false)
  await reportError(context, failure, { quiet: false })
  return new AlreadyReported(failure)
}

/** Where the key is from now on, without reading it again. */
async function keyFacts({ context, settings }: Session, key: KeyAnswer): Promise<InitDocument['key']> {
  switch (key.kind) {
    case 'store':
      return { source: `credentials file ${credentialsPath(context)}`, last_four: lastFour(key.value) }
    case 'file':
      return { source: `file ${key.path}`, last_four: '' }
    case 'as it is': {
      const location = await settings.keyLocation()
      return location === undefined ? null : { source: location.source, last_four: '' }
    }
    case 'later':
      return null
  }
}

/** The last screen: what has been written where, and what to do next. */
function report(context: Context, document: InitDocument, isPlan: boolean): string {
  const { stdout } = context
  const columns = stdout.isTerminal ? stdout.columns : 80
  const { written, changed, models, profile } = document
  const about = (path: string) =>
    path === credentialsPath(context) ? 'the key, readable only by you' : changed.join(', ')
  const files = written.map((path) => [homePath(context, path), about(path)] as const)
  const heading = isPlan ? 'Would be written:' : 'Written:'
  const blocks = [
    files.length === 0
      ? wrap('Nothing to write: everything was set already.', columns)
      : `${headingLine(heading, columns)}\n${formatRows(files, columns)}`,
    `${headingLine('Try next:', columns)}\n${formatRows(nextCommands(models, profile), columns)}`,
  ]
  return `${blocks.join('\n\n')}\n`
}

/** Three commands that work with what is configured. */
function nextCommands({ text, image, video }: InitDocument['models'], profile: string): HelpRow[] {
  const program = profile === 'default' ? 'modelgate' : `modelgate --profile ${shellWord(profile)}`
  const model = text === null ? ' -m MODEL' : ''
  const rows: readonly (HelpRow | undefined)[] = [
    [`${program} generate${model} "Name three rivers"`, 'words as they arrive'],
    image === null
      ? undefined
      : [`${program} image create -o boat.png "A paper boat"`, 'an image, into a file'],
    video === null
      ? undefined
      : [`${program} video generate -o boat.mp4 "A paper boat"`, 'a video, when it is done'],
    [`git diff | ${program} respond${model} "Review this"`, 'piped text, then the prompt'],
    [`${program} chat${model}`, 'a conversation'],
  ]
  return rows.filter((row) => row !== undefined).slice(0, 3)
}
