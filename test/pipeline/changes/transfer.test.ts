import { readdirSync, readFileSync, rmSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Interrupted } from '../../../src/errors.ts'
import type { OutputEvent } from '../../../src/events/documents.ts'
import { adoptJobs } from '../../../src/pipeline/changes/change-outputs.ts'
import { pullOutputs, pushOutputs } from '../../../src/pipeline/changes/transfer.ts'
import { openByteSource, openSharedStore } from '../../../src/pipeline/store/shared-store.ts'
import { closedPort, localServer, type ChooseReply } from '../../support/local-server.ts'
import { flood, head, readHead, text, write } from '../../support/server-replies.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { accountOf, runBench } from '../run/run-bench.ts'
import { instantClock } from '../store/store-samples.ts'

const jobOf = (name: string) =>
  `  ${name}: { respond: { model: m, input: ${name} }, out: copy/${name}.txt }\n`

/** A project whose outputs are made and pushed into a folder, as it is in a clean checkout. */
async function shelf(...names: string[]) {
  const bench = await runBench({ 'modelgate.yaml': `version: 1\njobs:\n${names.map(jobOf).join('')}` })
  await bench.run()
  const place = temporaryFolder()
  const context = { ...bench.context, clock: instantClock() }
  const call = { ...bench.call, context }
  const network = { connection: {}, allowHttp: false }
  const texts = Object.fromEntries(names.map((name) => [name, bench.read(`copy/${name}.txt`)]))
  const pathOf = (name: string) => {
    const { sha256 } = bench.lock()[name]!.outputs[0]!
    return `${sha256.slice(0, 2)}/${sha256}`
  }
  return {
    bench,
    place,
    texts,
    pathOf,
    async push() {
      const document = await pushOutputs(call, await openSharedStore(context, place, network))
      return document.files.map(({ instance, state }) => `${instance}: ${state}`)
    },
    async pull(from = place) {
      const events: OutputEvent[] = []
      const listener = { event: (event: OutputEvent) => void events.push(event), async flush() {} }
      const source = await openByteSource(context, from, network)
      const { exit, told, document } = accountOf(await pullOutputs({ ...call, listener }, source))
      const { warnings, command } = document!
      return { exit, told, warnings, command, events: events.map(({ type }) => type) }
    },
    /** As version control has it that does not have the outputs. */
    clear() {
      for (const name of ['copy', '.modelgate']) rmSync(bench.path(name), { recursive: true })
    },
    /** What there is of outputs, and of bytes that were fetched. */
    left: () => ({
      outputs: bench.list('copy').sort(),
      bytes: filesBelow(bench.path('.modelgate/replaced')),
    }),
    serve: (choose: (name: string, path: string) => ReturnType<ChooseReply>) =>
      localServer(({ line }) => {
        const path = line.split(' ')[1]!.slice(1)
        return choose(names.find((name) => pathOf(name) === path) ?? path, join(place, path))
      }),
  }
}

/** The names of all files in it. */
function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return []
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.flatMap((entry) => (entry.isFile() ? entry.name : [])).sort()
}

/** The same, pushed, in a clean checkout. */
async function emptied(...names: string[]) {
  const made = await shelf(...names)
  await made.push()
  made.clear()
  return made
}

const file = (path: string) =>
  existsSync(path) ? text(readFileSync(path, 'utf8')) : text('', { status: 404 })

test('what the lock names is pushed once, and pulled into a clean checkout', async () => {
  const { bench, texts, pathOf, place, push, pull, clear, left } = await shelf('hero', 'logo')
  expect(await push()).toEqual(['hero: new', 'logo: new'])
  expect(filesBelow(place)).toEqual([pathOf('hero'), pathOf('logo')].map((path) => path.slice(3)).sort())
  expect(await push()).toEqual(['hero: present', 'logo: present'])
  clear()
  expect(await push()).toEqual(['hero: missing', 'logo: missing'])
  const lock = bench.read('modelgate.lock')
  const { events, ...pulled } = await pull()
  expect(pulled).toEqual({
    exit: 'ok',
    told: ['hero: fresh (restored)', 'logo: fresh (restored)'],
    warnings: [],
    command: 'run pull',
  })
  expect(events).toEqual(['plan-make', 'instance-end', 'instance-end'])
  expect([bench.read('copy/hero.txt'), bench.read('copy/logo.txt')]).toEqual([texts['hero'], texts['logo']])
  expect([bench.read('modelgate.lock'), left().bytes.length]).toEqual([lock, 2])
  expect((await bench.run({ mode: 'check' })).exit).toBe('ok')
})

test('the bytes may be in an output with other line breaks, or among the results alone', async () => {
  const { bench, texts, pathOf, place, push } = await shelf('hero', 'logo', 'note')
  bench.write('copy/hero.txt', 'A\r\nB\r\n')
  await adoptJobs(bench.call, ['hero'])
  rmSync(bench.path('.modelgate/replaced'), { recursive: true })
  rmSync(bench.path('copy/logo.txt'))
  bench.write('copy/note.txt', 'By hand.')
  rmSync(bench.path(`.modelgate/results/${bench.lock()['note']!.key}`), { recursive: true })
  expect(await push()).toEqual(['hero: new', 'logo: new', 'note: missing'])
  expect(readFileSync(join(place, pathOf('hero')), 'utf8')).toBe('A\nB\n')
  expect(readFileSync(join(place, pathOf('logo')), 'utf8')).toBe(texts['logo'])
  expect(bench.read('copy/hero.txt')).toBe('A\r\nB\r\n')
})

test('from a web server only what is missing is asked for, and a file that was changed stays', async () => {
  const { bench, texts, pull, serve } = await emptied('hero', 'logo', 'note')
  bench.write('copy/hero.txt', texts['hero']!.replaceAll('\n', '\r\n'))
  bench.write('copy/note.txt', 'By hand.')
  const asked: string[] = []
  const server = await serve((name, path) => {
    asked.push(name)
    return file(path)
  })
  expect(await pull(server.url)).toMatchObject({
    exit: 'outdated',
    told: ['hero: fresh', 'logo: fresh (restored)', 'note: changed (kept)'],
    warnings: [],
  })
  expect(asked.sort()).toEqual(['logo', 'note'])
  expect(bench.read('copy/note.txt')).toBe('By hand.')
  await pull(server.url)
  expect(asked.length).toBe(2)
})

test('what a store does not have as locked is named, and the rest is restored', async () => {
  const names = ['cut', 'good', 'gone', 'long', 'loop', 'other']
  const { pull, serve, left, texts } = await emptied(...names)
  const bodies: Record<string, ReturnType<ChooseReply>> = {
    cut: text(texts['cut']!.slice(0, -1)),
    gone: text('', { status: 404 }),
    long: [readHead, write(head(200)), write(texts['long']!), flood('x'.repeat(1000))],
    loop: text('', { status: 302, headers: { location: '/loop' } }),
    other: text(texts['other']!.toUpperCase()),
  }
  const server = await serve((name, path) => bodies[name] ?? file(path))
  const { exit, told, warnings, events } = await pull(server.url)
  const lost = ['gone: lost', 'long: lost', 'loop: lost', 'other: lost']
  expect([exit, told]).toEqual(['outdated', ['cut: lost', 'good: fresh (restored)', ...lost]])
  expect(warnings).toEqual([
    `The store ${server.url}/: The URL is refused: it redirects more than 5 times.`,
    `The store ${server.url}/ does not have the bytes of 5 files as locked: copy/cut.txt, copy/gone.txt, copy/long.txt, copy/loop.txt, copy/other.txt.`,
  ])
  expect(events.slice(0, 3)).toEqual(['warning-add', 'warning-add', 'plan-make'])
  expect(left()).toMatchObject({ outputs: ['good.txt'], bytes: [expect.any(String)] })
})

test('when the server fails nothing is put in place, and what has come is not asked for again', async () => {
  const { pull, serve, left } = await emptied('bad', 'good')
  await expect(pull(`http://127.0.0.1:${await closedPort()}`)).rejects.toMatchObject({ exit: 'notSent' })
  const asked: string[] = []
  let isUp = false
  const server = await serve((name, path) => {
    asked.push(name)
    return name === 'good' || isUp ? file(path) : text('', { status: 502 })
  })
  await expect(pull(server.url)).rejects.toMatchObject({ exit: 'later' })
  expect(left()).toMatchObject({ outputs: [], bytes: [expect.any(String)] })
  isUp = true
  asked.length = 0
  expect((await pull(server.url)).exit).toBe('ok')
  expect(asked).toEqual(['bad'])
})

test('a signal in the middle of a file leaves nothing of it', async () => {
  const { bench, pull, serve, left } = await emptied('hero')
  const server = await serve(() => {
    setImmediate(() => bench.context.abort(new Interrupted('interrupt')))
    return [readHead, write(`${head(200, { 'content-length': '9' })}A`), { step: 'stall' }]
  })
  await expect(pull(server.url)).rejects.toMatchObject({ exit: 'interrupt' })
  expect(left()).toEqual({ outputs: [], bytes: [] })
})
