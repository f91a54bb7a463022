import dns from 'node:dns'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import type { LookupFunction } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, vi } from 'vitest'
import { Interrupted } from '../../src/errors.ts'
import type { ErrorDocument } from '../../src/events/documents.ts'
import { advanceUntilSettled } from '../gateway/test-gateway.ts'
import { startProgram } from '../program/start-program.ts'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../support/canary-key.ts'
import {
  localServer,
  type LocalServer,
  type LocalServerOptions,
  type ReceivedRequest,
} from '../support/local-server.ts'
import { typedTerminal } from '../support/question-terminal.ts'
import { end, head, readAll, sse, text, write, type ServerReply } from '../support/server-replies.ts'
import { withSocketHook } from '../support/socket-faults.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import type { TestOverrides } from '../support/test-context.ts'
import type { Call } from './calls.ts'
import type { Exchange, WholeReply } from './exchanges.ts'

/** What was seen of a call whose gateway did something wrong. */
export type CallEnd = Awaited<ReturnType<typeof performCall>>

type Environment = Readonly<Record<string, string | undefined>>

/** What goes wrong around a call, and what else is different about it. */
export interface Trouble {
  readonly call: Call
  /** The exchange that goes wrong; all others go as they should. */
  readonly exchange: Exchange
  /** What its requests get, one after the other; those after these get the whole reply. */
  readonly replies: readonly ServerReply[]
  readonly more?: readonly string[]
  readonly env?: Environment | ((server: LocalServer) => Environment)
  /** In the working directory, besides those of the call. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  /** In place of the server's own. */
  readonly baseUrl?: (server: LocalServer) => string | Promise<string>
  /** What each connection gets from its beginning, whatever is asked: there is no gateway behind it. */
  readonly connection?: ServerReply
  readonly tls?: LocalServerOptions['tls']
  /** Takes the place of the system's resolver. */
  readonly lookup?: LookupFunction
  /** What every connection of the call fails with. */
  readonly connectFails?: Error
  readonly context?: TestOverrides
  /** Once the gateway has fallen silent, time passes in steps of so many milliseconds; else only the program's own pauses do. */
  readonly stepMs?: number
  /** Sent once the gateway has fallen silent. */
  readonly signal?: 'hangup' | 'interrupt' | 'terminate'
  /** What every write to a stream comes to. */
  readonly stdoutFails?: Error
  readonly stderrFails?: Error
}

/**
 * Performs a call on a gateway that spoils one of its exchanges, and checks what holds for every call: no trace of the
 * key, no temporary file, and never two creations that a gateway may have accepted.
 */
export async function performCall(trouble: Trouble) {
  const { call, exchange, more = [], env, baseUrl, connection, tls, lookup, connectFails, stepMs } = trouble
  const key = canaryKey()
  const home = temporaryFolder()
  const cwd = join(home, 'project')
  mkdirSync(cwd)
  writeFiles(cwd, call.files ?? {})
  let attempts = 0
  let isSpoilt = false
  const spoil = (asked: Exchange) =>
    isSpoilt && asked === exchange ? trouble.replies[attempts++] : undefined
  const server = await gatewayFor(call, spoil)
  const own = {
    HOME: home,
    MODELGATE_BASE_URL: server.url,
    MODELGATE_API_KEY: key,
    MODELGATE_POLL_INTERVAL: '1',
  }
  for (const argv of call.before ?? []) {
    expect(await startProgram(argv, { home, cwd, env: own }).passWaits()).toBe(0)
  }
  const done = server.requests.length
  isSpoilt = true
  const other =
    connection && (await localServer(Array(maxConnections).fill(connection), { tls, verify: false }))
  const spoilt = other ?? server
  if (lookup !== undefined) replaceLookup(lookup)
  writeFiles(cwd, trouble.files ?? {})
  const known = contentsOf(cwd)
  const url = (await baseUrl?.(spoilt)) ?? spoilt.url
  const start = () =>
    startProgram([...call.argv, ...more], {
      home,
      cwd,
      ...(call.how === 'chat' && typedTerminal(call.typed)),
      ...trouble.context,
      env: { ...own, MODELGATE_BASE_URL: url, ...(typeof env === 'function' ? env(spoilt) : env) },
    })
  const fail = (name: string) => (name === 'connect' ? connectFails : undefined)
  const run = connectFails === undefined ? start() : withSocketHook(fail, start)
  if (trouble.stdoutFails !== undefined) run.context.stdout.fail(trouble.stdoutFails)
  if (trouble.stderrFails !== undefined) run.context.stderr.fail(trouble.stderrFails)
  if (trouble.signal !== undefined) {
    await run.until(() => spoilt.isEndless)
    run.context.abort(new Interrupted(trouble.signal))
  }
  if (stepMs !== undefined) {
    // A resolver that never answers has no server behind it, nor has a host that is not reached.
    const isAlone = lookup !== undefined || connectFails !== undefined
    const isSilent = () => isAlone || spoilt.isEndless || run.clock.isPausing
    await advanceUntilSettled(run.clock, stepMs, run.exitCode, isSilent)
  }
  const exit = await run.passWaits()
  const { stdout, stderr } = run.context
  expectNoKey('standard output', stdout.bytes, key)
  expectNoKey('standard error', stderr.bytes, key)
  expectNoKeyBelow(home, key)
  expectOneCreation(server.requests.slice(done), trouble)
  // Whoever repeats the call after 5 and 6 pays for nothing twice.
  const isPaid = /was billed|"billed":"yes"/.test(stderr.text)
  expect([5, 6].includes(exit) && isPaid, `exit ${exit}, and billed`).toBe(false)
  return {
    exit,
    stdout: stdout.text,
    stderr: stderr.text,
    /** The error object on standard error, with `--json`. */
    error: errorIn(stderr.text),
    /** In the working directory, without what the call found there; a run's own files are not among them. */
    files: filesIn(cwd, known, call),
    /** Requests of the spoilt exchange whose head has come. */
    attempts: other?.connections ?? attempts,
    /** Pauses of the program, in milliseconds; each passed at once. */
    waits: run.clock.waits,
  }
}

/** A gateway that answers what a call asks. @param spoil gives another reply */
export const gatewayFor = (
  { exchanges, provides = [] }: Pick<Call, 'exchanges' | 'provides'>,
  spoil: (asked: Exchange) => ServerReply | undefined = () => undefined,
): Promise<LocalServer> =>
  localServer(({ line }) => {
    const asked = [...exchanges, ...provides].find(({ asks }) => asks.test(line))
    return asked === undefined ? text('', { status: 404 }) : (spoil(asked) ?? wholeReply(asked.reply))
  })

/** A reply as it should come: of a known length, or for events in chunks. */
export function wholeReply({ type, pieces }: WholeReply): ServerReply {
  if (type === 'text/event-stream') return sse(pieces)
  const body = Buffer.concat(pieces)
  const headers = { 'content-type': type, 'content-length': String(body.length) }
  return [readAll, write(head(200, headers)), write(body), end]
}

function errorIn(stderr: string): ErrorDocument['error'] | undefined {
  const line = stderr.split('\n').find((text) => text.startsWith('{'))
  return line === undefined ? undefined : (JSON.parse(line) as ErrorDocument).error
}

function pathsIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => !entry.isDirectory(),
  )
  return entries.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
}

/** Every file of a folder but a run's own, by path. */
function contentsOf(folder: string): ReadonlyMap<string, Buffer> {
  const own = pathsIn(folder).filter((path) => !/^(?:\.modelgate\/|modelgate\.lock)/.test(path))
  return new Map(own.map((path) => [path, readFileSync(join(folder, path))]))
}

/** What is new in a folder, or is no longer what it was; what the call itself is about may change. */
function filesIn(
  folder: string,
  known: ReadonlyMap<string, Buffer>,
  { files = {} }: Call,
): Record<string, Buffer> {
  expect(pathsIn(folder).filter((path) => path.endsWith('.mgpart'))).toEqual([])
  const now = [...contentsOf(folder)]
  const isChanged = ([path, bytes]: readonly [string, Buffer]) =>
    !Object.hasOwn(files, path) && known.get(path)?.equals(bytes) !== true
  return Object.fromEntries(now.filter(isChanged))
}

/** More than any call opens. */
const maxConnections = 40

/** For the rest of the test. The system's own is looked up at each connection. */
function replaceLookup(lookup: LookupFunction): void {
  const spy = vi.spyOn(dns, 'lookup').mockImplementation(lookup as never)
  onTestFinished(() => spy.mockRestore())
}

/** A request that came whole, and was not refused, may have been billed. */
function expectOneCreation(requests: readonly ReceivedRequest[], { call, exchange, replies }: Trouble): void {
  const paid = call.exchanges.filter(({ role }) => role === 'text' || role === 'creation')
  for (const one of paid) {
    const asked = requests.filter(({ line }) => one.asks.test(line))
    const accepted = asked.filter(
      ({ complete }, at) => complete && (one !== exchange || mayAccept(replies[at])),
    )
    expect(accepted.length, 'creations').toBeLessThanOrEqual(1)
    expect(new Set(asked.map(({ headers }) => headers['idempotency-key'])).size).toBeLessThanOrEqual(1)
  }
}

/** Whether a server that does this may have begun to work on the request: all but those that refuse it. */
function mayAccept(reply: ServerReply | undefined): boolean {
  const first = reply?.find((step) => step.step === 'write')
  const status = /^HTTP\/1\.1 (\d{3})/.exec(String(first?.bytes ?? ''))?.[1]
  return status === undefined || Number(status) < 400
}
