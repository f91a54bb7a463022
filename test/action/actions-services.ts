import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** GitHub's services, as the runner gives them to an action, and a place for releases. */
export type ActionsServices = Awaited<ReturnType<typeof actionsServices>>

type Json = Record<string, unknown>

/** Version 2 of the cache service, version 4 and newer of artifacts, and blob storage, as far as a client can tell. */
export async function actionsServices() {
  const blobs = new Map<string, { bytes: Buffer; blocks: Map<string, Buffer>; type: string }>()
  const entries: { name: string; version: string; blob: string; isDone: boolean; isCache: boolean }[] = []
  /** Paths that were asked for, with the token that came along. */
  const asked: { path: string; authorization: string | undefined }[] = []
  /** What is downloaded, by path. */
  const files = new Map<string, string | Buffer>()
  let url = ''

  const open = (name: string, version: string, isCache: boolean) => {
    const same = entries.filter((entry) => entry.isCache === isCache && entry.name === name)
    if (same.some((entry) => entry.version === version)) return { ok: false, message: 'already exists' }
    const blob = `/blob/container/${entries.length}`
    entries.push({ name, version, blob, isDone: false, isCache })
    return { ok: true, signed_upload_url: `${url}${blob}?sig=secret-signature` }
  }
  const finish = (name: string, isCache: boolean) => {
    const entry = entries.findLast((entry) => entry.isCache === isCache && entry.name === name)!
    entry.isDone = true
    const id = String(entries.indexOf(entry) + 1)
    return { ok: true, entry_id: id, artifact_id: id }
  }
  const services: Readonly<Record<string, (body: Json) => Json>> = {
    CreateCacheEntry: ({ key, version }) => open(String(key), String(version), true),
    FinalizeCacheEntryUpload: ({ key }) => finish(String(key), true),
    GetCacheEntryDownloadURL({ key, restore_keys: others = [], version }) {
      const fitting = entries.filter((entry) => entry.isCache && entry.isDone && entry.version === version)
      const startingWith = (start: string) => fitting.findLast(({ name }) => name.startsWith(start))
      const found =
        fitting.find(({ name }) => name === key) ?? (others as string[]).map(startingWith).find(Boolean)
      if (found === undefined) return { ok: false }
      const address = `${url}${found.blob}?sig=secret-signature`
      return { ok: true, signed_download_url: address, matched_key: found.name }
    },
    CreateArtifact: ({ name, version }) => {
      if (version !== 7) throw new Error(`CreateArtifact of version ${String(version)}`)
      return open(String(name), '', false)
    },
    FinalizeArtifact: ({ name }) => finish(String(name), false),
  }
  const store = (path: string, query: URLSearchParams, body: Buffer, type: string) => {
    const blob = blobs.get(path) ?? { bytes: Buffer.alloc(0), blocks: new Map<string, Buffer>(), type }
    blobs.set(path, blob)
    if (query.get('comp') === 'block') blob.blocks.set(query.get('blockid')!, body)
    else if (query.get('comp') === 'blocklist') {
      const ids = [...String(body).matchAll(/<Latest>([^<]+)<\/Latest>/g)].map(([, id]) => id!)
      Object.assign(blob, { bytes: Buffer.concat(ids.map((id) => blob.blocks.get(id)!)), type })
    } else Object.assign(blob, { bytes: body, type })
  }
  const stored = (isCache: boolean) =>
    entries
      .filter((entry) => entry.isDone && entry.isCache === isCache)
      .map(({ name, version, blob }) => ({ name, version, ...blobs.get(blob)! }))

  const state = {
    url,
    /** Finished ones, oldest first. */
    get caches() {
      return stored(true)
    },
    get artifacts() {
      return stored(false)
    },
    files,
    asked,
    /** The cache service answers with it in place of its own answers. */
    cacheStatus: undefined as number | undefined,
  }
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      const { pathname, searchParams } = new URL(request.url!, url)
      asked.push({ path: pathname, authorization: request.headers.authorization })
      const answer = (status: number, content: string | Buffer = '', type = 'application/json') =>
        response.writeHead(status, { 'content-type': type }).end(content)
      const method = /^\/twirp\/[\w.]+\/(\w+)$/.exec(pathname)?.[1]
      if (method !== undefined) {
        if (state.cacheStatus !== undefined && method.includes('Cache'))
          return answer(state.cacheStatus, '{}')
        return answer(200, JSON.stringify(services[method]!(JSON.parse(String(body)) as Json)))
      }
      if (request.method === 'PUT') {
        const type = String(request.headers['x-ms-blob-content-type'] ?? '')
        store(pathname, searchParams, body, type)
        return answer(201)
      }
      const file = blobs.get(pathname)?.bytes ?? files.get(pathname)
      return file === undefined ? answer(404) : answer(200, file, 'application/octet-stream')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  state.url = url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return state
}
