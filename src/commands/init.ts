import type { Command } from 'commander'
import { editUserFile } from '../config/edit-config.ts'
import { lastFour } from '../config/key.ts'
import type { Context } from '../context.ts'
import { FileError, Interrupted } from '../errors.ts'
import type { InitDocument } from '../events/set-up.ts'
import { outputVersion } from '../events/output-schema.ts'
import { createGate } from '../output/gate.ts'
import { createScreen } from '../output/screen.ts'
import { overridden, planChanges, writeAnswers, type Answers } from './init/apply-answers.ts'
import { answerBaseUrl, answerKey, type KeyAnswer, type KeyReader } from './init/ask-gateway.ts'
import { answerModel, modelKinds, type ModelKind } from './init/choose-models.ts'
import { givenKey, keyReader, refuseMissing } from './init/present.ts'
import { report } from './init/report.ts'
import { createSay, createWait, type InitOptions, type Session } from './init/session.ts'
import { addCompletion, completionFor, hasCompletion, isOnPath } from './init/shell-completion.ts'
import { testCall, type TestCall } from './init/test-call.ts'
import type { RunCommand } from './shared/options/command-tools.ts'
import { addShared } from './shared/options/common-options.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { writeHelp } from '../output/help-page.ts'
import { askYesNo, canAsk } from './shared/input/questions.ts'
import { ownSettings } from './shared/options/own-settings.ts'
import { homePath, printDocument } from './shared/call/print-document.ts'

const examples: readonly Example[] = [
  ['modelgate init', 'asks for all that is needed'],
  [
    'modelgate init --base-url https://HOST --api-key-file key.txt --text-model MODEL',
    'asks for what is left',
  ],
  ['pass show gateway | modelgate init --yes --base-url https://HOST --api-key-file -', 'in a script'],
  ['modelgate init --profile work', 'one gateway among several'],
]

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
  addExamples(command, examples)
  command
    .option('--text-model <id>', 'default model for text; "-" for none')
    .option('--image-model <id>', 'default model for images; "-" for none')
    .option('--video-model <id>', 'default model for videos; "-" for none')
    .option('--test', 'make a test call, which may be billed')
    .option('--no-test', 'make none')
    .option('--completion', "append completion to the shell's start file")
    .option('--no-completion', 'do not offer that')
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
  const asks = !options.yes && context.env['TERM'] !== 'dumb' && canAsk(context, options.noInput)
  const isSilent = !asks && settings.quiet.value
  const screen = createScreen(context, gate, !asks)
  const say = isSilent ? async () => {} : createSay(context, screen)
  const waitFor = createWait(screen)
  const checks = options.check && options.dryRun !== true
  const session: Session = { context, options, asks, checks, settings, gate, say, waitFor }
  if (!asks) await refuseMissing(session)
  // Nobody should answer questions for a file that cannot be written.
  if (!options.dryRun) await editUserFile(context, [])
  const { reader, answers, plan } = await underSignal('Nothing was written.', async () => {
    if (asks) await say(greeting, 'dim')
    const reader = await keyReader(session)
    const answers = await answer(session, reader)
    return { reader, answers, plan: await planChanges(session, answers) }
  })
  const isPlan = options.dryRun === true
  const written = isPlan ? [...plan.files] : await writeAnswers(session, plan.values, answers.key)
  const { warnings, test, completion } = await underSignal('The answers are written.', async () => {
    const warnings = isPlan ? [] : await overridden(session, answers)
    for (const warning of warnings) await say(`warning: ${warning}`, 'warning')
    const test = isPlan ? undefined : await offerTest(session, run, answers.models.text)
    const completion = isPlan ? undefined : await offerCompletion(session)
    return { warnings, test, completion }
  })
  if (completion?.added) written.push(completion.path!)
  const { baseUrl } = answers.gateway
  const { text = null, image = null, video = null } = answers.models
  const document: InitDocument = {
    version: outputVersion,
    command: 'init',
    profile: settings.profile.value,
    base_url: baseUrl.href.replace(/\/$/, ''),
    gateway: answers.check?.verdict ?? null,
    key: keyFacts(answers.key, reader),
    models: { text, image, video },
    changed: Object.keys(plan.values),
    written,
    test_exit_code: test === undefined ? null : (test.failure?.exitCode ?? 0),
    completion: completion ?? null,
    warnings,
  }
  if (options.json) {
    await printDocument(context, options, document, () => '', { quiet: settings.quiet.value, gate })
  } else {
    if (asks) await say('')
    writeHelp(context, gate.text(report(context, document, { isPlan, credentials: reader.store })))
  }
  if (asks && !isOnPath(context)) await say(notOnPath, 'warning')
  if (test?.failure !== undefined) throw test.failure
}

/** Runs a part of the whole. @throws what it throws; an Interrupted says how far it had come */
async function underSignal<Value>(state: string, part: () => Promise<Value>): Promise<Value> {
  try {
    return await part()
  } catch (error) {
    throw error instanceof Interrupted ? error.amend({ message: `${error.message} ${state}` }) : error
  }
}

const notOnPath =
  'modelgate is not on your PATH yet: "npm link" in a clone puts it there; "npx modelgate" works without.'

const greeting =
  'This sets up modelgate: gateway, key and models. Ctrl-C leaves; nothing is written until the models are chosen.'

/** All answers, from the flags, else from the user; nothing is written yet. */
async function answer(session: Session, reader: KeyReader): Promise<Answers> {
  const gateway = await answerBaseUrl(session)
  const { answer: key, check } = await answerKey(session, gateway, reader, await givenKey(session, reader))
  const listed = check?.verdict === 'lists' ? check.models : []
  const models: Record<ModelKind, string | undefined> = {
    text: undefined,
    image: undefined,
    video: undefined,
  }
  for (const kind of modelKinds) models[kind] = await answerModel(session, kind, listed)
  return { gateway, key, check, models }
}

async function offerTest(
  session: Session,
  run: RunCommand,
  model: string | undefined,
): Promise<TestCall | undefined> {
  const { context, options, asks, say } = session
  if (options.test === false || (model === undefined && options.test !== true)) return undefined
  if (model === undefined) {
    await say('No test call: there is no model for text.', 'warning')
    return undefined
  }
  const question = `Make a test call to ${model}? It may be billed, for a few tokens.`
  if (options.test !== true && !(asks && (await askYesNo(context, question, true)))) return undefined
  return testCall(session, run, model)
}

/** @throws FileError where nobody can be told */
async function offerCompletion({
  context,
  options,
  asks,
  say,
}: Session): Promise<Exclude<InitDocument['completion'], null> | undefined> {
  const found = completionFor(context)
  if (found === undefined) return undefined
  const { shell, line, path } = found
  const facts = { shell, line, path: path ?? null }
  try {
    const isThere = await hasCompletion(found)
    const isOffered = !isThere && options.completion === undefined && asks
    if (isOffered) {
      await say(
        `Completion for ${shell} takes one line${path === undefined ? ' in the file that $PROFILE names' : ''}:`,
      )
      await say(`  ${line}`, 'accent')
    }
    const isWanted =
      options.completion ??
      (isOffered &&
        path !== undefined &&
        (await askYesNo(context, `Append it to ${homePath(context, path)}?`, false)))
    return { ...facts, added: isWanted && (await addCompletion(found)) }
  } catch (error) {
    if (!asks || !(error instanceof FileError)) throw error
    await say(error.message, 'warning')
    return { ...facts, added: false }
  }
}

/** Where the key is from now on, without reading it again. */
function keyFacts(key: KeyAnswer, { present, store }: KeyReader): InitDocument['key'] {
  switch (key.kind) {
    case 'store':
      return { source: `credentials file ${store}`, last_four: lastFour(key.value) }
    case 'file':
      return { source: `file ${key.text}`, last_four: '' }
    case 'command':
      return { source: 'a command', last_four: '' }
    case 'as it is':
      return present === undefined ? null : { source: present, last_four: '' }
    case 'later':
      return null
  }
}
