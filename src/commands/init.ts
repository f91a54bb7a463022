import type { Command } from 'commander'
import { editUserFile } from '../config/edit-config.ts'
import { credentialsPath, lastFour } from '../config/key.ts'
import type { Context } from '../context.ts'
import { Interrupted, UsageError } from '../errors.ts'
import { outputVersion } from '../events/version.ts'
import type { InitDocument } from '../events/setting.ts'
import { createGate, type Gate } from '../output/gate.ts'
import { createScreen, loadColours } from '../output/screen.ts'
import { writeHelp, formatRows, headingLine, type HelpRow } from '../output/help-page.ts'
import { overridden, planChanges, writeAnswers, type Answers } from './init/apply-answers.ts'
import { answerBaseUrl, answerKey, type InitOptions, type KeyAnswer, type Session } from './init/answers.ts'
import { answerModel } from './init/choose-models.ts'
import { addExamples } from './shared/help/help-layout.ts'
import { canAsk } from './shared/input/questions.ts'
import { addShared } from './shared/options/common-options.ts'
import { ownSettings } from './shared/gateway/check-gateway.ts'
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

/** `modelgate init`: sets up gateway, key and models; run again, it changes them. */
export function registerInit(command: Command, context: Context): void {
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
    .option('--no-check', 'do not check that the gateway answers and accepts the key')
    .option('-y, --yes', 'ask nothing: keep every setting that has no flag')
  addShared(command, taken, meanings)
  command.action(async (_: unknown, self: Command) => setUp(context, self.optsWithGlobals<InitOptions>()))
}

async function setUp(context: Context, options: InitOptions): Promise<void> {
  const gate = createGate(context)
  const settings = await ownSettings(context, options)
  await loadColours(context)
  const asks = !options.yes && context.env['TERM'] !== 'dumb' && canAsk(context, options.noInput)
  const isPlan = options.dryRun === true
  const checks = options.check && !isPlan
  const say = speaker(context, gate, asks || !settings.quiet.value)
  const session: Session = { context, options, settings, gate, asks, checks, say }
  if (!asks) await refuseMissing(session)
  // Nobody should answer questions for a file that cannot be written.
  if (!isPlan) await editUserFile(context, [])
  if (asks) await say(greeting, 'dim')
  const answers = await answerAll(session).catch((error: unknown) => {
    throw error instanceof Interrupted
      ? error.amend({ message: `${error.message} Nothing was written.` })
      : error
  })
  const { gateway, key, check, models } = answers
  const plan = await planChanges(session, answers)
  const written = isPlan ? plan.files : await writeAnswers(session, plan, key)
  const warnings = isPlan ? [] : await overridden(session, answers)
  for (const warning of warnings) await say(`warning: ${warning}`, 'warning')
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
    test_exit_code: null,
    completion: null,
    warnings,
  }
  if (options.json) {
    return await printDocument(context, options, document, () => '', { quiet: settings.quiet.value, gate })
  }
  if (asks) await say('')
  writeHelp(context, gate.text(report(context, document, isPlan)))
}

/** Asks for all that has no flag, in this order. */
async function answerAll(session: Session): Promise<Answers> {
  const gateway = await answerBaseUrl(session)
  const { key, check } = await answerKey(session, gateway)
  const listed = check?.verdict === 'lists' ? check.models : []
  const text = await answerModel(session, 'text', listed)
  const image = await answerModel(session, 'image', listed)
  const video = await answerModel(session, 'video', listed)
  return { gateway, key, check, models: { text, image, video } }
}

/** Writes lines on standard error, broken between words where it is a terminal. */
function speaker(context: Context, gate: Gate, isHeard: boolean): Session['say'] {
  const { stderr } = context
  const screen = createScreen(context, gate, true)
  return async (text, tone = 'plain') => {
    if (!isHeard) return
    const indent = /^ */.exec(text)![0]
    const lines = stderr.isTerminal ? wrap(text, stderr.columns - 1, indent).split('\n') : [text]
    for (const line of lines) screen.line(line, tone)
    await screen.settle()
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
