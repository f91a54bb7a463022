import type { Command } from 'commander'
import { storeKey } from '../config/credentials.ts'
import { editUserFile, pathToWrite, type Change } from '../config/edit-config.ts'
import { findUserFile, profileSection, userFilePath } from '../config/config-file.ts'
import { credentialsPath, lastFour } from '../config/key.ts'
import { settingTable, type SettingName } from '../config/setting-table.ts'
import { resolveSettings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { Interrupted, UsageError } from '../errors.ts'
import type { InitDocument } from '../events/setting.ts'
import { outputVersion } from '../events/version.ts'
import { shellWord } from '../files/file-error.ts'
import { objectOf } from '../json.ts'
import { createGate } from '../output/gate.ts'
import { formatRows, headingLine, writeHelp, type HelpRow } from '../output/help-page.ts'
import { wrap } from '../output/line-breaks.ts'
import { isProblem } from '../problems.ts'
import {
  answerAll,
  modelKinds,
  type Answers,
  type InitOptions,
  type KeyAnswer,
  type Session,
} from './init/answers.ts'
import { homePath, printDocument, printNote } from './shared/call/print-document.ts'
import { ownSettings } from './shared/gateway/check-gateway.ts'
import { canAsk } from './shared/input/questions.ts'
import { addShared, addExamples } from './shared/options/common-options.ts'

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
  command.action((options: InitOptions) => setUp(context, options))
}

async function setUp(context: Context, options: InitOptions): Promise<void> {
  const gate = createGate(context)
  const settings = await ownSettings(context, options)
  const asks = !options.yes && context.env['TERM'] !== 'dumb' && canAsk(context, options.noInput)
  const isPlan = options.dryRun === true
  const checks = options.check && !isPlan
  const isHeard = asks || !settings.quiet.value
  const say = (line: string) => void (isHeard && printNote(context, line, gate))
  const session: Session = { context, options, settings, gate, asks, checks, say }
  if (!asks) await refuseMissing(session)
  // Nobody should answer questions for a file that cannot be written.
  if (!isPlan) await editUserFile(context, [])
  if (asks) say(greeting)
  const answers = await answerAll(session).catch((error: unknown) => {
    throw error instanceof Interrupted
      ? error.amend({ message: `${error.message} Nothing was written.` })
      : error
  })
  const { baseUrl, key, check, models } = answers
  const changes = await plannedChanges(session, answers)
  const written = await write(session, changes, key)
  const warnings = isPlan ? [] : await overridden(session, answers)
  for (const warning of warnings) say(`warning: ${warning}`)
  const document: InitDocument = {
    version: outputVersion,
    command: 'init',
    profile: settings.profile.value,
    base_url: baseUrl.href.replace(/\/$/, ''),
    gateway: check?.verdict ?? null,
    // Without reading one that is there again.
    key: key.source === undefined ? null : { source: key.source, last_four: lastFour(key.value ?? '') },
    models: { text: models.text ?? null, image: models.image ?? null, video: models.video ?? null },
    changed: changes.map(({ path }) => path.at(-1)!),
    written,
    test_exit_code: null,
    completion: null,
    warnings,
  }
  if (options.json) {
    return await printDocument(context, options, document, () => '', { quiet: settings.quiet.value, gate })
  }
  if (asks) say('')
  writeHelp(context, gate.text(report(context, document, isPlan)))
}

const greeting =
  'This sets up modelgate: gateway, key and models. Ctrl-C leaves; nothing is written until the models are chosen.'

async function refuseMissing({ options, settings }: Session): Promise<void> {
  const hasKey =
    options.yes || options.apiKeyFile !== undefined || (await settings.keyLocation()) !== undefined
  const asked = 'On a terminal, modelgate init asks for it.'
  const missing: string[] = []
  if (options.baseUrl === undefined && settings.baseUrl.value === undefined)
    missing.push('The address of the gateway is missing: pass --base-url URL.')
  if (!hasKey)
    missing.push('The key is missing: pass --api-key-file FILE, or - to store the one on standard input.')
  if (missing.length === 0) return
  const hint = hasKey ? asked : `${asked} With --yes the key may be left to MODELGATE_API_KEY.`
  throw new UsageError(missing, { code: 'not_confirmed', hint })
}

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

function nextCommands({ text, image, video }: InitDocument['models'], profile: string): HelpRow[] {
  const program = profile === 'default' ? 'modelgate' : `modelgate --profile ${shellWord(profile)}`
  const model = text === null ? ' -m MODEL' : ''
  const rows: readonly (HelpRow | false)[] = [
    [`${program} generate${model} "Name three rivers"`, 'words as they arrive'],
    image !== null && [`${program} image create -o boat.png "A paper boat"`, 'an image, into a file'],
    video !== null && [`${program} video generate -o boat.mp4 "A paper boat"`, 'a video, when it is done'],
    [`git diff | ${program} respond${model} "Review this"`, 'piped text, then the prompt'],
    [`${program} chat${model}`, 'a conversation'],
  ]
  return rows.filter((row) => row !== false).slice(0, 3)
}

/** What the answers change in the file of settings, but for what is so already. */
async function plannedChanges(session: Session, { baseUrl, key, models }: Answers): Promise<Change[]> {
  const { context, settings, options } = session
  const section = await profileSection(context, settings.profile.value)
  const content = objectOf((await findUserFile(context))?.content)
  const present = section.reduce((part, name) => objectOf(part[name]), content)
  const wanted: [SettingName, unknown][] = [['baseUrl', baseUrl.href.replace(/\/$/, '')]]
  // Whatever the gateway was reached with, later calls need as well.
  if (options.allowHttp) wanted.push(['allowHttp', true])
  if (options.caFile !== undefined) wanted.push(['caFile', pathToWrite(context, options.caFile)])
  // A stored key is only found where no setting names another.
  if ((key.path ?? key.value) !== undefined) {
    wanted.push(['apiKeyFile', key.path], ['apiKeyCommand', undefined])
  }
  for (const kind of modelKinds) {
    // One that comes from elsewhere stays there.
    if (settings[`${kind}Model`].value !== models[kind]) wanted.push([`${kind}Model`, models[kind]])
  }
  return wanted
    .map(([name, value]) => ({ name: settingTable[name].file, value }))
    .filter(({ name, value }) => present[name] !== value)
    .map(({ name, value }) => ({ path: [...section, name], value }))
}

/** All of the file of settings at once, then the key. @returns the paths of the files that are changed, or would be */
async function write(
  { context, options, settings: { profile } }: Session,
  changes: readonly Change[],
  key: KeyAnswer,
): Promise<string[]> {
  if (options.dryRun) {
    const store = key.value === undefined ? undefined : credentialsPath(context)
    return [changes.length > 0 ? userFilePath(context) : [], store ?? []].flat()
  }
  const written = [
    changes.length > 0 ? await editUserFile(context, changes) : undefined,
    key.value === undefined ? undefined : await storeKey(context, profile.value, key.value),
  ]
  return written.flatMap((file) => (file?.changed ? [file.path] : []))
}

/** What a call in this folder and this environment would use instead of the answers: a sentence for each. */
async function overridden(
  { context, settings }: Session,
  { baseUrl, key, models }: Answers,
): Promise<string[]> {
  try {
    const now = await resolveSettings(context, { profile: settings.profile.value })
    const location = await now.keyLocation()
    const expected = key.value === undefined ? 'file' : 'credentials'
    const isGiven = (key.value ?? key.path) !== undefined
    const inFront = (name: SettingName, isOther: boolean) =>
      isOther ? [`${now[name].source} takes precedence over the configured ${settingTable[name].file}.`] : []
    return [
      ...inFront('baseUrl', now.baseUrl.value?.href !== baseUrl.href),
      ...(isGiven && location !== undefined && location.kind !== expected
        ? [`${location.source} takes precedence over the key that was given.`]
        : []),
      ...modelKinds.flatMap((kind) => inFront(`${kind}Model`, now[`${kind}Model`].value !== models[kind])),
    ]
  } catch (error) {
    // Not wrong with the answers: with the file of a project, or a variable.
    if (!isProblem(error)) throw error
    return [`In this folder calls do not work yet. ${error.message}`]
  }
}
