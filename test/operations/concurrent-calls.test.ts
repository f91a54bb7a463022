import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { OutputEvent } from '../../src/events/documents.ts'
import { generateText } from '../../src/operations/generate-text.ts'
import { imageRequest } from '../../src/operations/image-request.ts'
import { makeImages } from '../../src/operations/make-images.ts'
import type { Call, OperationContext } from '../../src/operations/operation.ts'
import { addInput, responseRequest } from '../../src/operations/response-request.ts'
import { createProblemList } from '../../src/problems.ts'
import { testGateway } from '../gateway/test-gateway.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const plan = {
  folder: undefined,
  force: false,
  skipExisting: false,
  download: true,
  savePartials: false,
  sidecar: false,
  strict: false,
  acceptMismatch: false,
  allowPrivateUrls: false,
}

test('a program without a command line makes two images and a text at once', async () => {
  const sandbox = await runningSandbox()
  const cwd = temporaryFolder()
  const refused = () => {
    throw new Error('nothing is for standard output')
  }
  // All that the operations get of the process: nothing to read from, no terminal, no environment.
  const context: OperationContext = {
    cwd,
    platform: 'linux',
    clock: fakeClock(),
    signal: new AbortController().signal,
    stdout: { write: refused, needsDrain: false, drain: refused },
  }
  const events = new Map<string, OutputEvent[]>()
  const call = (name: string): Call => {
    const own: OutputEvent[] = []
    events.set(name, own)
    return {
      context,
      // Keys of requests differ by chance.
      gateway: testGateway(sandbox.url, {
        signal: context.signal,
        clock: fakeClock({ random: Math.random }),
      }),
      listener: { event: (event) => void own.push(event), async flush() {} },
      redactor: { text: (text) => text, document: (document) => document },
      rescueFolder: undefined,
      hasSent: () => true,
    }
  }
  const image = async (name: string) => {
    const problems = createProblemList()
    const files = { ...plan, output: `${name}.png` }
    const body = { model: 'sandbox-image', prompt: `A ${name}`, size: '256x256' }
    const parts = {
      command: 'image create',
      model: 'sandbox-image',
      body,
      images: [],
      mask: undefined,
    } as const
    const checked = { ...parts, family: undefined, validate: true, warnings: [] }
    const request = await imageRequest(context, checked, files, problems)
    problems.throwIfAny()
    return makeImages(call(name), request, files)
  }
  const text = async (name: string) => {
    const body = { model: 'sandbox-text', stream: true }
    addInput(body, [], 'Name three rivers')
    const request = responseRequest({ model: 'sandbox-text', body, answerSchema: undefined, warnings: [] })
    return generateText(call(name), request, { folder: '.', keepsResponse: true, strict: false })
  }

  const [kite, boat, rivers] = await Promise.all([image('kite'), image('boat'), text('rivers')])

  for (const [name, outcome] of Object.entries({ kite, boat })) {
    expect(outcome).toMatchObject({ kind: 'ended', failure: undefined, document: { warnings: [] } })
    expect(outcome.document?.files).toMatchObject([{ path: `${name}.png`, width: 256, verified: true }])
    expect(readFileSync(join(cwd, `${name}.png`))).toHaveLength(outcome.document!.files[0]!.bytes)
    expect(events.get(name)!.map(({ type }) => type)).toEqual(['start', 'image-save'])
  }
  const words = events.get('rivers')!.flatMap((event) => (event.type === 'text-delta' ? [event.text] : []))
  expect(rivers).toMatchObject({ kind: 'ended', failure: undefined, document: { text: words.join('') } })
  expect(words.length).toBeGreaterThan(1)
  expect(sandbox.created()).toBe(3)
})
