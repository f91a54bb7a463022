import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { OutputEvent } from '../../src/events/documents.ts'

import { nextCommand } from '../../src/files/next-command.ts'
import { namedJob, openJobs } from '../../src/operations/jobs.ts'
import { lookUpVideo } from '../../src/operations/look-up-video.ts'
import type { Call } from '../../src/operations/operation.ts'
import { findSavedVideos, reportSavedVideos } from '../../src/operations/save-videos.ts'
import { startVideo, type StartPlan } from '../../src/operations/start-video.ts'
import {
  addInstance,
  planVideos,
  readPicture,
  videoGatewayRequest,
  videoRequest,
} from '../../src/operations/video-request.ts'
import { waitForVideo } from '../../src/operations/wait-for-video.ts'
import { testGateway } from '../gateway/test-gateway.ts'
import { clip, film, finished, operation, running, started } from '../program/videos/video-replies.ts'
import { videoKinds } from '../../src/files/calls/job-record.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { pngBytes } from '../support/image-bytes.ts'
import { localServer } from '../support/local-server.ts'
import { json, type ServerReply } from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

/** What a program that is no command line gives the operations. */
async function worker(replies: readonly ServerReply[]) {
  const server = await localServer(replies)
  const folder = temporaryFolder()
  const cwd = join(folder, 'work')
  mkdirSync(cwd)
  const clock = fakeClock()
  const context = testContext({ cwd, clock })
  const events: OutputEvent[] = []
  let hasSent = false
  const call: Call = {
    context,
    gateway: testGateway(server.url, { clock, onSend: () => void (hasSent = true) }),
    listener: { event: (event) => void events.push(event), async flush() {} },
    redactor: { text: (text) => text, document: (document) => document },
    rescueFolder: join(folder, 'rescued'),
    hasSent: () => hasSent,
  }
  const body = { parameters: {} }
  addInstance(body, 'A boat', {})
  const request = videoRequest({ kind: 'operation', model: 'models/veo', body, prompt: undefined })
  const location = { output: 'x.mp4', folder: null, force: false }
  const store = openJobs(context, join(folder, 'state'), call.redactor)
  const plan: StartPlan = {
    store,
    isSandbox: false,
    profile: 'default',
    keepsWords: true,
    onRecorded: async () => {},
    location,
    output: planVideos(context, location, { ...request, now: clock.now() }),
    force: false,
    refetch: false,
    isCopy: false,
    allowPrivateUrls: false,
    strict: false,
    acceptMismatch: false,
    pollIntervalS: undefined,
    deadlineMs: undefined,
    resume: (id) => nextCommand(['resume', id]),
    waits: false,
    checksSource: true,
  }
  return { server, cwd, call, events, request, plan, store }
}

test('a request is made of fields and files', async () => {
  const { call, request } = await worker([])
  const png = pngBytes()
  const picture = { bytesBase64Encoded: png.toString('base64'), mimeType: 'image/png' }
  const body = { instances: [{ prompt: 'One' }], parameters: { sampleCount: 2 } }
  const image = await readPicture(call.context, { label: 'the first frame', bytes: png })
  addInstance(body, undefined, { image })
  const made = videoRequest({ kind: 'operation', model: 'veo', body, prompt: undefined })
  expect(made).toMatchObject({ model: 'veo', prompt: 'One', count: 2 })
  expect(body.instances).toEqual([{ prompt: 'One', image: picture }])
  await expect(
    readPicture(call.context, { label: 'the first frame', bytes: Buffer.from('<html>') }),
  ).rejects.toThrow('the first frame is not a picture')
  const { url, idempotencyKey } = videoGatewayRequest(call.gateway, request)
  expect(url.pathname).toBe('/v1beta/models/veo:predictLongRunning')
  expect(idempotencyKey).toMatch(/^[\da-f-]{36}$/)
})

test('a job is started, looked up, waited for, and found saved, without a command line', async () => {
  const { cwd, call, events, request, plan, store } = await worker([
    started,
    running,
    finished(['/1.mp4']),
    film(),
  ])
  const begun = await startVideo(call, request, plan)
  expect(begun).toMatchObject({ kind: 'ended', document: { command: 'video generate', id: operation } })
  const stored = (await store.find(operation))!
  const named = namedJob(stored, videoKinds, {
    isSandbox: false,
    baseUrl: call.gateway.baseUrl,
    betaUrl: undefined,
  })
  const looked = await lookUpVideo(call, 'video status', named, { reportsState: true, resume: plan.resume })
  expect(looked).toMatchObject({ kind: 'ended', failure: { code: 'still_running' } })
  const waited = await waitForVideo(call, 'wait', named, plan)
  expect(waited).toMatchObject({ kind: 'ended', document: { files: [{ path: 'x.mp4' }] } })
  expect(readFileSync(join(cwd, 'x.mp4'))).toEqual(clip)
  // How often the download is told of depends on the pieces in which it comes.
  const types = events.map(({ type }) => type)
  expect(types.filter((type, at) => type !== 'download-progress' || types[at - 1] !== type)).toEqual([
    'start',
    'job-create',
    'start',
    'start',
    'job-progress',
    'download-progress',
    'video-save',
  ])
  const videos = await findSavedVideos(call.context, named, plan.output, call.redactor)
  const again = reportSavedVideos(call.listener, 'wait', named, videos!, plan)
  expect(again).toMatchObject({ kind: 'ended', document: { state: 'completed', files: [{ path: 'x.mp4' }] } })
})

test('the wait of a job ends with an outcome that knows how it goes on', async () => {
  const { call, request, plan } = await worker([started])
  const outcome = await startVideo(call, request, { ...plan, waits: true, deadlineMs: 0 })
  expect(outcome).toMatchObject({
    kind: 'failed',
    error: { code: 'still_running', facts: { remoteId: operation, billed: 'yes' } },
    document: { id: operation },
  })
})

test('a job that was refused is forgotten by the store that recorded it', async () => {
  const { call, request, plan, store } = await worker([json({ error: { message: 'no' } }, { status: 400 })])
  const outcome = await startVideo(call, request, plan)
  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'http_400' }, document: undefined })
  expect((await store.list()).jobs).toEqual([])
})
