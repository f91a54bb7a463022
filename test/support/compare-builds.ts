/**
 * Runs every shell block of the README and of docs/ with two builds of the program, each in a folder of its own against a
 * sandbox of its own, and prints what differs: the calls with their exit codes, both streams, the requests, the files.
 *
 * `node test/support/compare-builds.ts OTHER-CHECKOUT [PAGE…]` compares this checkout with another one; both are built.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { systemClock } from '../../src/context.ts'
import { startSandbox } from '../../src/sandbox/start-sandbox.ts'
import { shellBlocks } from './pages.ts'

/** A block that has not ended by then waits for somebody, or serves. */
const longestMs = 20_000
/** Programs that would reach beyond the folder, or wait. */
const stubs = 'npm npx docker sudo pass sleep gh redis-server open xdg-open code vi'.split(' ')

const [other, ...pages] = process.argv.slice(2)
if (other === undefined) throw new Error('Which checkout is this one to be compared with?')
const builds = [resolve(other), resolve(import.meta.dirname, '../..')] as const

let differing = 0
const blocks = shellBlocks().filter(({ page }) => pages.length === 0 || pages.includes(page))
for (const { page, line, script } of blocks) {
  const [before, now] = [await seenOf(builds[0], script), await seenOf(builds[1], script)]
  const differences = Object.keys({ ...before, ...now })
    .map((name) => [name, changes(before[name] ?? '(nothing)', now[name] ?? '(nothing)')] as const)
    .filter(([, lines]) => lines.length > 0)
  if (differences.length > 0) differing++
  for (const [name, lines] of differences) console.log(`\n${page}:${line}: ${name}\n${lines.join('\n')}`)
}
console.log(`${blocks.length} blocks, ${differing} of them differ`)

/** All that is seen of a block when it is run with a build, by what it is; what differs from run to run is taken out. */
async function seenOf(build: string, script: string): Promise<Record<string, string>> {
  const home = mkdtempSync(join(tmpdir(), 'modelgate-compare-'))
  const cwd = join(home, 'project')
  const requests: string[] = []
  const gateway = await recordedSandbox(requests)
  try {
    cpSync(join(build, 'examples'), join(cwd, 'examples'), { recursive: true })
    const program = `"${process.execPath}" "${build}/bin/modelgate.js" "$@"; code=$?`
    const commands = {
      modelgate: `#!/bin/bash\n${program}; printf '%s %s\\n' "$code" "$*" >> "$CALLS"; exit $code\n`,
      ...Object.fromEntries(stubs.map((name) => [name, '#!/bin/bash\n'])),
    }
    mkdirSync(join(home, 'bin'))
    for (const [name, text] of Object.entries(commands)) {
      writeFileSync(join(home, 'bin', name), text, { mode: 0o755 })
    }
    const ended = await runShell(script, cwd, {
      PATH: `${join(home, 'bin')}:${process.env['PATH']}`,
      HOME: home,
      CALLS: join(home, 'calls'),
      MODELGATE_BASE_URL: gateway.url,
      MODELGATE_API_KEY: 'sk-compare-0123456789',
      MODELGATE_TEXT_MODEL: 'sandbox-text',
      MODELGATE_IMAGE_MODEL: 'gpt-image-2',
      MODELGATE_VIDEO_MODEL: 'veo-3.1',
      MODELGATE_POLL_INTERVAL: '0.1',
      NODE_COMPILE_CACHE: join(build, 'node_modules/.cache/compiled'),
    })
    const paths = readdirSync(home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(home.length + 1))
      .filter((path) => !/^bin\/|^project\/examples\//.test(path))
    const files = paths.toSorted().map((path) => [`file ${steady(path)}`, fileFacts(join(home, path))])
    const texts = { ...ended, requests: requests.join('\n'), ...(Object.fromEntries(files) as object) }
    return Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [name, steady(text.replaceAll(home, '~'))]),
    )
  } finally {
    await gateway.close()
    rmSync(home, { recursive: true, force: true })
  }
}

async function runShell(script: string, cwd: string, env: NodeJS.ProcessEnv) {
  const child = spawn('bash', ['-c', script], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => (texts[name] += chunk.toString('latin1')))
  }
  // What it has started goes on when it ends: all of its group.
  const endAll = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // It has ended already.
    }
  }
  const timer = setTimeout(endAll, longestMs)
  const exit = await new Promise<string>((end) => {
    child.once('exit', (code, signal) => end(String(code ?? signal)))
  })
  clearTimeout(timer)
  endAll()
  return { exit, ...texts }
}

/** A sandbox behind a server that notes each request. */
async function recordedSandbox(requests: string[]) {
  const sandbox = await startSandbox({ clock: systemClock })
  const { port } = new URL(sandbox.url)
  const server = createServer(async (incoming, reply) => {
    const { method, url: path, headers } = incoming
    const body = await buffer(incoming).catch(() => undefined)
    // The client was killed.
    if (body === undefined) return
    const { host: _, date: __, connection: ___, 'idempotency-key': ____, ...shown } = headers
    requests.push(`${method} ${path} ${JSON.stringify(shown)} ${body.toString('latin1')}`)
    const outgoing = send({ port, method, path, headers }, (answer) => {
      reply.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(reply)
    })
    outgoing.on('error', () => reply.destroy())
    outgoing.end(body)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
      await sandbox.close()
    },
  }
}

/** A text as it is, other files by their size and digest. */
function fileFacts(path: string): string {
  const bytes = readFileSync(path)
  const isText = !bytes.includes(0)
  return isText
    ? bytes.toString()
    : `${bytes.length} bytes, ${createHash('sha256').update(bytes).digest('hex')}`
}

/** Without what is another in each run: ids, ports, times and how long things took. A digest of 64 digits stays. */
function steady(text: string): string {
  return (
    text
      .replaceAll(/\d{4}-\d\d-\d\d(?:[T ]?\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?)?|\d{8}T\d{6,9}Z?/g, 'TIME')
      .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
      .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'ID')
      .replaceAll(/(?:\b\d+-)?(?<![0-9a-f])(?=[0-9a-f]*\d)[0-9a-f]{12,63}(?![0-9a-f])/g, 'ID')
      .replaceAll(/\bTIME-[0-9a-f]{8}\b/g, 'TIME-ID')
      .replaceAll(/"check":"[0-9a-f]{8}"/g, '"check":ID')
      // Whether a job is seen at work depends on when it is looked up.
      .replaceAll(/^job: (?:pending|in_progress).*\n/gm, '')
      .replaceAll(/\b\d+(?:\.\d+)? ?m?s\b|(?:after|in) \d+:\d\d/g, 'DURATION')
      .replaceAll(
        /"(\w*(?:_s|_ms|time|started|created|updated|expires|completed|_at|mtime|pid|process))": ?"?\d+(?:\.\d+)?"?/g,
        '"$1":TIME',
      )
  )
}

/** The lines that only one of two texts has: what is done at once may be told in any order. */
function changes(before: string, now: string): readonly string[] {
  const [old, lines] = [before.split('\n'), now.split('\n')]
  const gone = old.filter((line) => !lines.includes(line)).map((line) => `- ${line.slice(0, 300)}`)
  const come = lines.filter((line) => !old.includes(line)).map((line) => `+ ${line.slice(0, 300)}`)
  return [...gone, ...come].slice(0, 20)
}
