import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { settingNames, settingTable } from '../../../src/config/setting-table.ts'
import { resolveSettings } from '../../../src/config/settings.ts'
import { ModelgateError, UsageError } from '../../../src/errors.ts'
import { CallReader } from '../../../src/files/calls/read-calls.ts'
import { sealedLine } from '../../../src/files/sealed-lines.ts'
import { History, readHistory, writeLine, type JournalEvent } from '../../../src/pipeline/journal/journal.ts'
import { formatLock, parseLock } from '../../../src/pipeline/lock/lock-block.ts'
import { readManifest } from '../../../src/pipeline/manifest/read-manifest.ts'
import { readRecording, recordedBytes } from '../../../src/sandbox/recording/recording-file.ts'
import { readLibrary } from '../../../src/sandbox/recording/replay-calls.ts'
import { failure, intent, remoteJob, result, sampleProject } from '../../pipeline/journal/journal-samples.ts'
import { sampleBlock } from '../../pipeline/lock/sample-block.ts'
import { anyText } from '../../support/any-text.ts'
import { testContext } from '../../support/test-context.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { changed, changes, textOf, type Change } from '../arbitraries.ts'
import { target } from '../target.ts'

const prototypeNames = ['__proto__', 'constructor', 'prototype', 'toString']

/** JSON texts whose names are these; from entries, because an object literal would lose `__proto__`. */
function jsonWith(names: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 4 }, fc.jsonValue({ maxDepth: 1 }), tie('list'), tie('mapping')),
    list: fc.array(tie('tree'), { maxLength: 3 }),
    mapping: fc
      .array(fc.tuple(fc.oneof(names, fc.string()), tie('tree')), { maxLength: 5 })
      .map((entries) => Object.fromEntries(entries)),
  }))
  return tree.map((value) => JSON.stringify(value))
}

const settings = settingNames.map((name) => settingTable[name].file)
const yamlMarks = [
  ['- ', ': ', '\n', '  ', '&a ', '*a', '{', '}', '[', ']', ',', '"', "'", '|', '>', '!!x ', '%'],
  ['---\n', '? ', '#', '<<: ', '...', '\t', '\ufeff', '\r\n', '\0', '\u2028', '0x7', '.inf'],
].flat()

const configuration = target({
  name: 'configuration',
  promises: 'a configuration file of any content is read, or refused in few words',
  cost: 'moderate',
  input: fc.tuple(
    fc.constantFrom('.modelgaterc.json', '.modelgaterc.yaml', '.modelgaterc'),
    fc.oneof(
      jsonWith(fc.constantFrom(...settings, 'profiles', ...prototypeNames, '$import', '<<')),
      textOf(
        [...yamlMarks, ...settings.map((name) => `${name}: `), 'profiles:\n  ', ...prototypeNames],
        fc.string(),
      ),
      anyText(),
    ),
  ),
  async check([name, content], folder) {
    const project = join(folder, name)
    mkdirSync(project, { recursive: true })
    writeFileSync(join(project, name), content)
    const context = testContext({ cwd: project, home: folder })
    const refusal = await resolveSettings(context).then(() => '', messageOf(UsageError))
    assert.ok(refusal.length < 10_000)
  },
})

/** The message of an error of this kind; any other is thrown on. */
function messageOf(kind: typeof UsageError | typeof ModelgateError) {
  return (error: unknown): string => {
    if (error instanceof kind) return error.message
    throw error
  }
}

const commands = ['respond', 'generate', 'image create', 'image edit', 'video generate', 'video remix']
const manifestNames = [
  ['out', 'each', 'alt', 'variants', 'pick', 'assert', 'frozen', 'on_unknown', 'prompt', 'input', 'model'],
  ['image', 'schema', 'source', 'reference', 'instances', 'contents', 'generation_config', 'parameters'],
  ['text', 'tools'],
  commands,
].flat()
const manifestWords = [
  ['version: 1', 'jobs:', 'a:', 'each: data.csv', 'out: a.png', 'prompt: x', 'file: prompt.md', '${id}'],
  ['@a', '@a[${id}]', 'image:', 'env: [A', 'assert:', 'matches: (', 'schema: ', 'defaults:'],
  ['\n  ', '\n    ', '\n      ', '\n', '__proto__:', 'constructor:'],
  commands.map((name) => `${name}:`),
].flat()
const lines = textOf([...manifestWords, ...manifestWords, ...yamlMarks], fc.string({ maxLength: 8 }))
const manifestName = fc.oneof(fc.constantFrom(...manifestNames), fc.string({ maxLength: 5 }))
const tree = fc.letrec<{ value: unknown; mapping: object }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, fc.jsonValue({ maxDepth: 3 }), tie('mapping')),
  mapping: fc.dictionary(manifestName, tie('value'), { maxKeys: 4, noNullPrototype: true }),
}))
const anyValue = fc.jsonValue({ maxDepth: 3 })
const manifestJobs = fc.dictionary(fc.constantFrom('a', 'b'), tree.mapping, { noNullPrototype: true })
const manifestValue = fc.record(
  {
    version: fc.oneof(fc.constant(1), anyValue),
    jobs: fc.oneof(manifestJobs, anyValue),
    defaults: fc.oneof(tree.mapping, anyValue),
    env: anyValue,
    lanes: anyValue,
    budget: anyValue,
  },
  { requiredKeys: ['version', 'jobs'], noNullPrototype: true },
)

/** A line of every answer to a manifest that is wrong; a name in it may have U+2028. */
const placed = /^(?:modelgate\.yaml|data\.csv|prompt\.md):(?:\d+:\d+: .+| … and \d+ more\.)$/s

const manifest = target({
  name: 'manifest',
  promises: 'a manifest of any bytes is read, or every mistake told with its place',
  cost: 'moderate',
  input: fc.oneof(
    lines,
    lines.map((rest) => `version: 1\njobs:\n  a:\n    ${rest}`),
    manifestValue.map((value) => JSON.stringify(value)),
    fc.uint8Array({ maxLength: 200 }),
  ),
  async check(content, folder) {
    writeFiles(folder, { 'data.csv': 'id,name\na,b\n', 'prompt.md': 'A hill\n', 'modelgate.yaml': content })
    const options = { isSandbox: false, env: {}, families: {} }
    const reading = readManifest(testContext({ cwd: folder }), join(folder, 'modelgate.yaml'), options)
    const mistakes = await reading.then(() => '', messageOf(UsageError))
    const others = mistakes.split('\n').filter((line) => !placed.test(line))
    if (mistakes !== '') assert.deepEqual(others, [])
  },
})

/** This text with some changes, or what was made in its place. */
function bytesOf(input: Change[] | Uint8Array | string, text: string): Buffer {
  return Array.isArray(input) ? changed(Buffer.from(text), input) : Buffer.from(input)
}

const digest = (digit: string) => digit.repeat(64)
const lockText = formatLock(new Map(['hero', 'row[a]', '10'].map((id) => [id, sampleBlock])))
const jsonWords = [
  ['{', '}', '[', ']', '"', ',', ':', '\\', '\n', '0', '<<<<<<<', '|', '=', '>', '_', '$', 'null'],
  ['"__proto__":{}'],
].flat()

const lock = target({
  name: 'lock',
  promises: 'a changed lock is read to what is written again alike, or refused with the line of the mistake',
  cost: 'cheap',
  input: changes(jsonWords),
  check(list) {
    const text = changed(Buffer.from(lockText), list).toString()
    let read
    try {
      read = parseLock(text, 'modelgate.lock')
    } catch (error) {
      const message = messageOf(UsageError)(error)
      return assert.match(message, /^modelgate\.lock:\d+.*$/s)
    }
    const again = formatLock(read)
    assert.equal(formatLock(parseLock(again, 'modelgate.lock')), again)
  },
})

const run = '20261122T120000000-00000001'
const journalEvents: readonly JournalEvent[] = [
  { type: 'begin', run, manifest: 'modelgate.yaml', version: '1' },
  intent('a'),
  remoteJob('a'),
  intent('b'),
  failure('b'),
  result('a'),
]
const journalLines = journalEvents.map((event) => writeLine(event, Date.UTC(2026, 10, 22, 12)))

const journal = target({
  name: 'journal',
  promises: 'a changed journal tells what its whole lines say, and takes nothing else for an event',
  cost: 'moderate',
  input: fc.oneof(changes([...jsonWords, ...journalLines]), fc.uint8Array({ maxLength: 300 })),
  async check(input, folder) {
    const project = sampleProject('modelgate.yaml', folder)
    const bytes = bytesOf(input, journalLines.join(''))
    writeFiles(project.stateFolder, { [`runs/${run}.jsonl`]: bytes })
    const read = await readHistory(project)
    const present = bytes.toString('latin1').split('\n')
    const known = journalLines.map((line) => Buffer.from(line).toString('latin1').slice(0, -1))
    const order = present.map((line) => known.indexOf(line)).filter((at) => at !== -1)
    // Where no line was repeated, what is read is what those say that are whole.
    if (order.some((at, index) => index > 0 && at <= order[index - 1]!)) return
    const right = new History()
    for (const at of order) right.note(journalEvents[at]!)
    for (const kind of ['results', 'intents', 'failures', 'jobs'] as const)
      assert.deepEqual([...read[kind].keys()], [...right[kind].keys()])
  },
})

const logged = ['a', 'b', 'c'].map((id) =>
  sealedLine(
    JSON.stringify({
      id: id.repeat(16),
      at: '2026-11-22T09:00:00.000Z',
      type: 'end',
      time: '2026-11-22T08:59:58.000Z',
      command: 'generate',
      exit_code: 0,
      files: [{ path: '/a.png', bytes: 3, sha256: digest('c'), format: 'png' }],
      duration_ms: 2000,
      cwd: '/home/a b/project',
    }),
  ),
)

const callRecords = target({
  name: 'call-records',
  promises: 'of changed records every call is told whose line is whole, and no other',
  cost: 'moderate',
  input: fc.oneof(changes([...jsonWords, ...logged, '\0\0\0']), fc.uint8Array({ maxLength: 300 })),
  check(input, folder) {
    const bytes = bytesOf(input, logged.join(''))
    writeFiles(folder, { '2026-11.jsonl': bytes })
    const lines = new Set(bytes.toString('latin1').split('\n'))
    const whole = logged.filter((line) => lines.has(line.slice(0, -1))).map((line) => line.slice(7, 23))
    const found = [...new CallReader(folder).calls()].map(({ facts }) => facts.id)
    assert.deepEqual(found.toSorted(), whole)
  },
})

const recorded = JSON.stringify(
  {
    format: 'modelgate-recording-1',
    recorded: '2026-11-22T06:10:57.123Z',
    request: { method: 'POST', path: '/v1/responses', body: { json: { model: 'm', input: 'Hi' } } },
    reply: {
      status: 200,
      headers: { 'content-type': 'text/event-stream', 'x-request-id': 'req_1' },
      after_ms: 12,
      body: {
        events: [
          { ms: 13, event: 'response.created', data: { type: 'response.created', n: 1 } },
          { ms: 14, text: ': note\n\n' },
          { ms: 15, file: `bodies/${digest('d')}.txt`, bytes: 3 },
        ],
      },
    },
  },
  null,
  2,
)
const places = ['"../../etc/passwd"', '1e999', '-1', '"file":', '"json":', '"text":', '\ufeff']

const recording = target({
  name: 'recording',
  promises: 'a changed recording is read or refused, and reaches no file outside its folder',
  cost: 'moderate',
  input: fc.oneof(
    changes([...jsonWords, ...places]),
    jsonWith(fc.constantFrom('format', 'request', 'reply', 'body', ...prototypeNames)),
    anyText(),
  ),
  async check(input, folder) {
    writeFiles(folder, { '0001.json': bytesOf(input, recorded) })
    const library = await readLibrary(folder).catch(messageOf(ModelgateError))
    if (typeof library === 'string') return assert.ok(library.length < 10_000)
    const { reply } = await readRecording(folder, '0001.json')
    assert.ok(reply.status >= 200)
    const { body } = reply
    if (body === undefined || !('events' in body)) return
    for (const event of body.events) {
      // The body that a file of its own would hold is not there.
      await recordedBytes(folder, event).catch((error: Error) => assert.equal(error.name, 'DamagedRecording'))
      if ('file' in event) assert.ok(/^bodies\/[0-9a-f]{64}\.[0-9a-z]{1,8}$/.test(event.file))
    }
  },
})

export const fileTargets = [configuration, manifest, lock, journal, callRecords, recording]
