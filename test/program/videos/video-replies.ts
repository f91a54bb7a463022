import { json, type ServerReply } from '../../support/server-replies.ts'
import { file } from '../images/replies.ts'
import { mp4Bytes } from '../../support/video-bytes.ts'
import { answeredBy } from '../workspace.ts'

export const operation = 'models/veo/operations/op-0123'
export const videoId = 'video_0123456789'
export const clip = mp4Bytes({ width: 1280, height: 720, duration: 4000 }, Buffer.alloc(5000, 1))
export const otherClip = mp4Bytes({ width: 720, height: 1280, duration: 8000 }, Buffer.alloc(6000, 2))

/** The words that start an operation. */
export const generate = ['generate', '-m', 'veo', 'A boat']
/** The same, waiting for the video, which goes into x.mp4. */
export const savingX = [...generate, '--wait', '-o', 'x.mp4']
/** The words that start a remix. */
export const remix = ['remix', '-m', 'video-model-remix', 'video_source', 'Make it night']

export const started: ServerReply = json({ name: operation })
/** While it runs an operation says nothing but its name (wire notes, section 7). */
export const running: ServerReply = json({ name: operation })

/** A finished operation. */
export function finished(uris: readonly string[], more: Readonly<Record<string, unknown>> = {}): ServerReply {
  const generatedSamples = uris.map((uri) => ({ video: { uri } }))
  return json({
    name: operation,
    done: true,
    response: { generateVideoResponse: { ...(uris.length > 0 && { generatedSamples }), ...more } },
  })
}

export const failedOperation: ServerReply = json({
  name: operation,
  done: true,
  error: { code: 3, message: 'The prompt was not understood.', details: [] },
})

/** A Video in a state. */
export function video(status: string, more: Readonly<Record<string, unknown>> = {}): ServerReply {
  return json({ id: videoId, object: 'video', status, progress: status === 'completed' ? 100 : 0, ...more })
}

/** The bytes of a video. */
export function film(bytes: Uint8Array = clip, headers: Readonly<Record<string, string>> = {}): ServerReply {
  return file(bytes, { 'content-type': 'video/mp4', ...headers })
}

export const { given, runGiven } = answeredBy(['video'])
