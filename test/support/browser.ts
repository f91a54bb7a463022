import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'

/** Chromium as Debian installs it; undefined where it is missing. */
export const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path))

/** A page in a real browser without a window. */
export interface Page {
  /** The value of an expression in the page; a promise is awaited. */
  value<Value>(expression: string): Promise<Value>
  /** Waits until an expression in the page is true, looking at each frame. */
  until(expression: string): Promise<void>
  /** Presses and releases a key: `j`, `ArrowRight`, `Escape`. */
  press(key: string): Promise<void>
  /** A picture of the window as a PNG. */
  screenshot(): Promise<Buffer>
  resize(width: number, height: number, isPhone?: boolean): Promise<void>
  prefer(feature: string, value: string): Promise<void>
  /** What the page wrote to its console, threw, was refused, and asked the network for. */
  readonly complaints: readonly string[]
  close(): Promise<void>
}

type Reply = { readonly result?: Record<string, unknown>; readonly error?: { readonly message: string } }
type Message = { id?: number; method?: string; params?: Record<string, unknown> } & Reply

/** Opens a file in the browser, by its file address, and waits until it has been read. */
export async function openPage(path: string): Promise<Page> {
  const profile = mkdtempSync(join(realpathSync(tmpdir()), 'modelgate-browser-'))
  const browser = spawn(
    chromium!,
    [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--no-first-run',
      '--autoplay-policy=no-user-gesture-required',
      '--remote-debugging-pipe',
      `--user-data-dir=${profile}`,
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
  )
  const ended = new Promise((resolve) => browser.once('exit', resolve))
  const connection = connect(browser.stdio[3] as Writable, browser.stdio[4] as unknown as Readable)
  const { targetInfos } = (await connection.send('Target.getTargets')) as {
    targetInfos: { targetId: string; type: string }[]
  }
  const { targetId } = targetInfos.find(({ type }) => type === 'page')!
  const { sessionId } = (await connection.send('Target.attachToTarget', { targetId, flatten: true })) as {
    sessionId: string
  }
  const send = (method: string, params: object = {}) => connection.send(method, params, sessionId)

  const complaints: string[] = []
  connection.on('Runtime.exceptionThrown', ({ exceptionDetails }) =>
    complaints.push(`exception: ${JSON.stringify(exceptionDetails)}`),
  )
  connection.on('Runtime.consoleAPICalled', ({ type, args }) =>
    complaints.push(`console ${String(type)}: ${JSON.stringify(args)}`),
  )
  // Refusals of the content security policy are among these.
  connection.on('Log.entryAdded', ({ entry }) => complaints.push(`log: ${JSON.stringify(entry)}`))
  connection.on('Network.requestWillBeSent', ({ request }) => {
    const { url } = request as { url: string }
    if (!/^(?:file|blob|data):/.test(url)) complaints.push(`request: ${url}`)
  })
  for (const domain of ['Runtime', 'Log', 'Network', 'Page']) await send(`${domain}.enable`)
  const loaded = new Promise((resolve) => connection.on('Page.loadEventFired', resolve))
  await send('Page.navigate', { url: pathToFileURL(path).href })
  await loaded

  async function value<Value>(expression: string): Promise<Value> {
    const parameters = { expression, awaitPromise: true, returnByValue: true, userGesture: true }
    const { result, exceptionDetails } = (await send('Runtime.evaluate', parameters)) as {
      result: { value: Value }
      exceptionDetails?: object
    }
    if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails))
    return result.value
  }

  return {
    complaints,
    value,
    until: (expression) =>
      value(`new Promise((resolve) => {
        const look = () => ((${expression}) ? resolve() : requestAnimationFrame(look))
        look()
      })`),
    async press(key) {
      const text = key.length === 1 ? { text: key } : {}
      const code = keyCodes[key]
      const known = code === undefined ? {} : { windowsVirtualKeyCode: code, code: key }
      await send('Input.dispatchKeyEvent', { type: 'keyDown', key, ...known, ...text })
      await send('Input.dispatchKeyEvent', { type: 'keyUp', key, ...known })
    },
    async screenshot() {
      const { data } = (await send('Page.captureScreenshot', { format: 'png' })) as { data: string }
      return Buffer.from(data, 'base64')
    },
    async resize(width, height, isPhone = false) {
      const metrics = { width, height, deviceScaleFactor: isPhone ? 2 : 1, mobile: isPhone }
      await send('Emulation.setDeviceMetricsOverride', metrics)
    },
    async prefer(name, value) {
      await send('Emulation.setEmulatedMedia', { features: [{ name, value }] })
    },
    async close() {
      await connection.send('Browser.close').catch(() => {})
      await ended
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

const keyCodes: Readonly<Record<string, number>> = { Enter: 13, Escape: 27, ArrowLeft: 37, ArrowRight: 39 }

/** The DevTools protocol over a pair of pipes: JSON, each message ended by a zero byte. */
function connect(input: Writable, output: Readable) {
  const replies = new Map<number, (reply: Reply) => void>()
  const listeners = new Map<string, (params: Record<string, unknown>) => unknown>()
  let sent = 0
  let rest = ''
  output.setEncoding('utf8').on('data', (piece: string) => {
    const messages = `${rest}${piece}`.split('\0')
    rest = messages.pop()!
    for (const text of messages) {
      const message = JSON.parse(text) as Message
      if (message.id === undefined) listeners.get(message.method ?? '')?.(message.params ?? {})
      else replies.get(message.id)?.(message)
    }
  })
  return {
    on(method: string, listener: (params: Record<string, unknown>) => unknown) {
      listeners.set(method, listener)
    },
    async send(method: string, params: object = {}, sessionId?: string): Promise<unknown> {
      const id = ++sent
      const reply = new Promise<Reply>((resolve) => replies.set(id, resolve))
      input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`)
      const { result, error } = await reply
      if (error) throw new Error(`${method}: ${error.message}`)
      return result
    },
  }
}
