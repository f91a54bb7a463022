import { mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Lock, LockBlock } from '../../../src/pipeline/lock/lock-block.ts'
import { formatLock, parseLock, readLock, writeLock } from '../../../src/pipeline/lock/project-lock.ts'
import { projectOf } from '../../../src/pipeline/project.ts'
import { withFsHook } from '../../support/fs-faults.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { sampleBlock as block } from './sample-block.ts'

const digest = (digit: string) => digit.repeat(64)

const outputText =
  `{"path":"assets/hero.webp","sha256":"${digest('b')}","bytes":1234,"media_type":"image/webp",` +
  `"width":1536,"height":1024,"credentials":true}`

const hero =
  `  "hero": {"key":"${digest('a')}","outputs":[${outputText}],` +
  `"fields":{"$command":"136f33ad50b3","prompt":"0123456789ab"},"picked":2,"model":"gpt-image-2",` +
  `"origin":"https://gateway.example","request_id":"req_1","usage":{"total_tokens":110},"took_s":1.5},\n`

const written = `{
  "$about": "Written by modelgate run: what was generated, by which request. Commit it; do not edit it.",
${hero}  "$version": 1
}
`

test('an instance is a line of one form, and read again', () => {
  expect(formatLock(new Map([['hero', block]]))).toBe(written)
  expect(parseLock(written, 'modelgate.lock')).toEqual(new Map([['hero', block]]))
})

test('the order of the members is that of the form, not of who made the block', () => {
  const reversed = Object.fromEntries(Object.entries(block).toReversed()) as unknown as LockBlock
  expect(formatLock(new Map([['hero', reversed]]))).toBe(written)
})

test('blocks are sorted by code units, also where ids look like numbers', () => {
  const ids = ['b', 'a[\u{1f600}]', 'a[\ufb33]', '10', '9', 'a', 'a[10]', 'a[9]', 'a-b']
  const text = formatLock(new Map(ids.map((id) => [id, block])))
  const names = [...text.matchAll(/^ {2}"([^$].*?)": \{/gm)].map(([, name]) => name)
  expect(names).toEqual(['10', '9', 'a', 'a-b', 'a[10]', 'a[9]', 'a[\u{1f600}]', 'a[\ufb33]', 'b'])
  expect([...parseLock(text, 'x').keys()]).toEqual(names)
})

test.each([
  ['line breaks of Windows', written.replaceAll('\n', '\r\n')],
  [
    'a member of a block that a later program has added',
    written.replace('"picked":2', '"picked":2,"later":[1]'),
  ],
  ['such a member of the lock', written.replace('"$version": 1', '"$later": {},\n  "$version": 1')],
  ['a member that is null', written.replace('"picked":2', '"picked":2,"adopted":null')],
])('what says the same is read: %s', (_, text) => {
  expect(parseLock(text, 'modelgate.lock')).toEqual(new Map([['hero', block]]))
})

test('any block comes back as it was', () => {
  const text = fc.string({ unit: 'grapheme' })
  const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value)
  const hex = (length: number) =>
    fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length })
  const output = fc.record({
    path: fc.constantFrom('a.png', 'assets/ä b.webp', 'a/..b/c', '..a', 'con', 'art/shoe: red.webp'),
    sha256: hex(64),
    bytes: fc.nat(),
    media_type: text,
    width: maybe(fc.nat()),
    height: maybe(fc.nat()),
    seconds: maybe(fc.double({ min: 0, max: 1e6, noNaN: true })),
    credentials: fc.boolean(),
  })
  const anyBlock = fc.record({
    key: hex(64),
    outputs: fc.array(output, { minLength: 1, maxLength: 3 }),
    fields: fc.dictionary(fc.constantFrom('prompt', '$command', 'sampleCount', 'constructor'), hex(12)),
    model: maybe(text),
    origin: maybe(text),
    request_id: maybe(text),
    job_id: maybe(text),
    usage: maybe(
      fc.dictionary(fc.string(), fc.jsonValue()).map((usage) => JSON.parse(JSON.stringify(usage))),
    ),
    took_s: maybe(fc.nat()),
    picked: maybe(fc.integer({ min: 1, max: 9 })),
    adopted: maybe(text),
    prompt: maybe(text),
  }) as fc.Arbitrary<LockBlock>
  const row = fc.string({ unit: 'grapheme', minLength: 1 })
  const id = fc.oneof(
    fc.constantFrom('hero', '10'),
    row.map((name) => `job[${name}]`),
  )
  fc.assert(
    fc.property(fc.dictionary(id, anyBlock), (blocks) => {
      const lock = new Map(Object.entries(blocks))
      const formatted = formatLock(lock)
      expect(parseLock(formatted, 'modelgate.lock')).toEqual(lock)
      expect(formatLock(parseLock(formatted, 'modelgate.lock'))).toBe(formatted)
    }),
  )
})

test('conflict markers within a line are text', () => {
  const prompt = 'a ||||||| b ======= c >>>>>>> d <<<<<<< e'
  const lock = new Map([['hero', { ...block, prompt }]])
  expect(parseLock(formatLock(lock), 'modelgate.lock')).toEqual(lock)
})

describe('is refused:', () => {
  const refusal = (text: string) => {
    try {
      parseLock(text, 'modelgate.lock')
    } catch (error) {
      return error
    }
    throw new Error('it was read')
  }

  test.each(['<<<<<<< HEAD', '||||||| 1234567', '=======', '>>>>>>> topic'])(
    'a conflict mark: %s',
    (mark) => {
      const text = written.replace('  "$version"', `${mark}\n  "$version"`)
      for (const cut of [text, text.replaceAll('\n', '\r\n')]) {
        expect(refusal(cut)).toMatchObject({
          exit: 'usage',
          code: 'lock_conflict',
          message: 'modelgate.lock:4: the lock has conflict markers of a merge.',
          facts: {
            hint: 'Resolve them with: modelgate run merge --resolve',
            next: ['modelgate', 'run', 'merge', '--resolve'],
          },
        })
      }
    },
  )

  test('a lock that was cut', () => {
    expect(refusal(written.slice(0, 300))).toMatchObject({
      exit: 'usage',
      code: 'lock_invalid',
      message: expect.stringMatching(/^modelgate\.lock:\d+:\d+: the lock is not valid JSON: /) as string,
      facts: { hint: 'Restore it from version control; nothing is generated without it.' },
    })
    expect(refusal('')).toMatchObject({
      message: 'modelgate.lock:1:1: the lock is not valid JSON: expected a value.',
    })
    expect(refusal('[]')).toMatchObject({ message: 'modelgate.lock:1:1: the lock is not an object.' })
  })

  test('a lock of the future, and one without its version', () => {
    expect(refusal(written.replace('"$version": 1', '"$version": 2'))).toMatchObject({
      exit: 'usage',
      code: 'other_version',
      message: 'modelgate.lock:1: the lock has version 2; this program reads up to 1.',
    })
    expect(refusal('{"$version": "2"}')).toMatchObject({
      message: 'modelgate.lock:1: the lock has no "$version" of 1.',
    })
  })

  test.each([
    ['"__proto__"', 'modelgate.lock:3: "__proto__" is not the name of an instance.'],
    ['"../hero"', 'modelgate.lock:3: "../hero" is not the name of an instance.'],
    ['"hero.x"', 'modelgate.lock:3: "hero.x" is not the name of an instance.'],
  ])('a block called %s', (name, message) => {
    expect(refusal(written.replace('"hero"', name))).toMatchObject({ code: 'lock_invalid', message })
  })

  test.each([
    ['"key":"a', '"key":"A', 'key is not a SHA-256 in hexadecimal'],
    [`"key":"${digest('a')}"`, `"key":["${digest('a')}"]`, 'key is not a SHA-256 in hexadecimal'],
    ['"key"', '"other"', 'key is missing'],
    ['"bytes":1234', '"bytes":-1', 'outputs[0].bytes is not a whole number'],
    ['"width":1536', '"width":"x"', 'outputs[0].width is not a whole number'],
    ['"picked":2', '"picked":0', 'picked is not a whole number from 1'],
    ['"took_s":1.5', '"took_s":-1', 'took_s is not a number of seconds'],
    ['"model":"gpt-image-2"', '"model":2', 'model is not a text'],
    ['"credentials":true', '"credentials":1', 'outputs[0].credentials is not true or false'],
    ['"prompt":"0123456789ab"', '"prompt":"x"', 'fields is not an object of fields and their digests'],
    ['"prompt":"0', '"__proto__":"0', 'fields is not an object of fields and their digests'],
    ['"prompt":"0', '"prompt x":"0', 'fields is not an object of fields and their digests'],
  ])('%s as %s', (from, to, clause) => {
    expect(refusal(written.replace(from, to))).toMatchObject({
      exit: 'usage',
      code: 'lock_invalid',
      message: `modelgate.lock:3: "hero": ${clause}.`,
    })
  })

  test.each([
    '../hero.webp',
    '.',
    'a//b',
    './a',
    'a\\b',
    'c:a',
    'a\0b',
    '.git/hooks/post-checkout',
    'sub/.GIT/config',
    '.modelgate/store/x',
    'half of a pair \ud83d',
    '',
  ])('an output at %j', (path) => {
    expect(refusal(written.replace('"assets/hero.webp"', JSON.stringify(path)))).toMatchObject({
      message:
        'modelgate.lock:3: "hero": outputs[0].path is not a path below the folder of the lock, with /.',
    })
  })

  test('a usage that is too deep to be written again', () => {
    const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
    expect(refusal(written.replace('"total_tokens":110', `"total_tokens":${deep}`))).toMatchObject({
      message: 'modelgate.lock:3: "hero": usage is not an object of usual depth.',
    })
  })

  test('outputs that are none', () => {
    const value = JSON.parse(written) as { hero: { outputs: unknown } }
    for (const outputs of [[], {}, 'x']) {
      value.hero.outputs = outputs
      expect(refusal(JSON.stringify(value))).toMatchObject({
        message: 'modelgate.lock:1: "hero": outputs is not a list with at least one file.',
      })
    }
    value.hero.outputs = [null]
    expect(refusal(JSON.stringify(value))).toMatchObject({
      message: 'modelgate.lock:1: "hero": outputs[0] is not an object.',
    })
  })

  test('a block that stands there twice, as after a merge by hand', () => {
    expect(refusal(written.replace(hero, hero + hero))).toMatchObject({
      message: 'modelgate.lock:4: "hero" appears twice in the lock.',
    })
    // Lines that stand further to the right are no instances.
    const pretty = JSON.stringify(JSON.parse(written), null, 2)
    const lines = pretty.split('\n').slice(2, -2)
    expect(refusal(pretty.replace('  "$version"', `${lines.join('\n')}\n  "$version"`))).toMatchObject({
      message: `modelgate.lock:${3 + lines.length}: "hero" appears twice in the lock.`,
    })
  })

  test('a block that is no object', () => {
    expect(refusal('{\n  "hero": null,\n  "$version": 1\n}\n')).toMatchObject({
      message: 'modelgate.lock:2: "hero": it is not an object.',
    })
  })

  test('all mistakes at once, up to ten', () => {
    const value = JSON.parse(written) as Record<string, unknown>
    value['hero'] = { outputs: [{}] }
    expect(refusal(JSON.stringify(value, null, 2))).toMatchObject({
      message: [
        'modelgate.lock:3: "hero": key is missing.',
        'modelgate.lock:3: "hero": outputs[0].path is missing.',
        'modelgate.lock:3: "hero": outputs[0].sha256 is missing.',
        'modelgate.lock:3: "hero": outputs[0].bytes is missing.',
        'modelgate.lock:3: "hero": outputs[0].media_type is missing.',
        'modelgate.lock:3: "hero": fields is missing.',
      ].join('\n'),
    })
    for (let at = 0; at < 1000; at++) value[`more-${at}`] = null
    const { message } = refusal(JSON.stringify(value, null, 2)) as Error
    expect(message.split('\n')).toHaveLength(11)
    expect(message).toContain('… and more.')
  })
})

describe('on disk', () => {
  function setUp(manifest = 'modelgate.yaml') {
    const folder = temporaryFolder()
    const project = projectOf(join(folder, manifest), false)
    const context = testContext({ cwd: folder })
    return {
      folder,
      project,
      read: () => readLock(context, project),
      write: (lock: Lock) => writeLock(context, project, lock),
    }
  }

  test('a lock is read as it was written, and nothing is left beside it', async () => {
    const { folder, read, write } = setUp('canon.yaml')
    await write(new Map([['hero', block]]))
    expect(readdirSync(folder)).toEqual(['canon.lock'])
    expect(await read()).toEqual(new Map([['hero', block]]))
  })

  test('no lock is an empty one, and an empty one needs no file', async () => {
    const { folder, read, write } = setUp()
    expect(await read()).toEqual(new Map())
    await write(new Map())
    expect(readdirSync(folder)).toEqual([])
    await write(new Map([['hero', block]]))
    await write(new Map())
    expect(await read()).toEqual(new Map())
  })

  test('a lock that says the same is not written again, whatever its line breaks', async () => {
    const { project, write } = setUp()
    const lock = new Map([['hero', block]])
    await write(lock)
    writeFileSync(project.lockPath, readFileSync(project.lockPath, 'utf8').replaceAll('\n', '\r\n'))
    utimesSync(project.lockPath, 1, 1)
    await write(lock)
    expect(statSync(project.lockPath).mtimeMs).toBe(1000)
    await write(new Map([['other', block]]))
    expect(readFileSync(project.lockPath, 'utf8')).not.toContain('\r')
  })

  test('a byte-order mark is no mistake, bytes that are no text are', async () => {
    const { project, read, write } = setUp()
    await write(new Map([['hero', block]]))
    const text = readFileSync(project.lockPath)
    writeFileSync(project.lockPath, Buffer.concat([Buffer.from('\ufeff'), text]))
    expect((await read()).size).toBe(1)
    writeFileSync(project.lockPath, Buffer.concat([text, Buffer.from([0xff])]))
    await expect(read()).rejects.toMatchObject({
      exit: 'usage',
      code: 'lock_invalid',
      message: `modelgate.lock: the lock is not UTF-8 text (byte 0xff at offset ${text.length}).`,
      facts: { hint: 'Restore it from version control; nothing is generated without it.' },
    })
  })

  test('a mistake is told with the path as the user knows it', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'art'))
    const project = projectOf(join(folder, 'art/modelgate.yaml'), false)
    writeFileSync(project.lockPath, '{\n<<<<<<< HEAD\n')
    await expect(readLock(testContext({ cwd: folder }), project)).rejects.toMatchObject({
      code: 'lock_conflict',
      message: 'art/modelgate.lock:2: the lock has conflict markers of a merge.',
    })
    await expect(readLock(testContext({ cwd: join(folder, 'art') }), project)).rejects.toMatchObject({
      message: 'modelgate.lock:2: the lock has conflict markers of a merge.',
    })
  })

  test('the command that resolves a conflict is for the same lock', async () => {
    const folder = temporaryFolder()
    const project = projectOf(join(folder, 'canon.yaml'), true)
    mkdirSync(dirname(project.lockPath), { recursive: true })
    writeFileSync(project.lockPath, '<<<<<<< HEAD\n')
    await expect(readLock(testContext({ cwd: folder }), project)).rejects.toMatchObject({
      facts: { hint: 'Resolve them with: modelgate run merge --resolve -f canon.yaml --sandbox' },
    })
  })

  test('a folder in its place, or a file in place of its folder, is told', async () => {
    const { folder, project, read, write } = setUp()
    mkdirSync(project.lockPath)
    await expect(read()).rejects.toMatchObject({ exit: 'io', code: 'not_a_file' })
    await expect(write(new Map([['hero', block]]))).rejects.toMatchObject({ exit: 'io', code: 'not_a_file' })
    const sandbox = projectOf(join(folder, 'modelgate.yaml'), true)
    writeFileSync(join(folder, '.modelgate'), '')
    await expect(
      writeLock(testContext({ cwd: folder }), sandbox, new Map([['hero', block]])),
    ).rejects.toMatchObject({
      exit: 'io',
      message:
        '".modelgate/sandbox/modelgate.lock" cannot be written: a part of its path is a file, not a folder.',
    })
  })

  test('where the disk is full the lock stays as it was, and nothing is left beside it', async () => {
    const { folder, read, write } = setUp()
    await write(new Map([['hero', block]]))
    const isFull = (name: string, call: () => Promise<unknown>) =>
      name === 'handle.write' || name === 'handle.writeFile'
        ? Promise.reject(Object.assign(new Error('ENOSPC: injected'), { code: 'ENOSPC' }))
        : call()
    const failing = withFsHook(isFull, () => write(new Map([['other', block]])))
    await expect(failing).rejects.toMatchObject({ exit: 'io', code: 'no_space' })
    expect(readdirSync(folder)).toEqual(['modelgate.lock'])
    expect(await read()).toEqual(new Map([['hero', block]]))
  })
})
