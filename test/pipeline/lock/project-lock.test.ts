import { mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { formatLock, parseLock, readLock, writeLock } from '../../../src/pipeline/lock/lock-block.ts'
import { projectOf } from '../../../src/pipeline/project.ts'
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
    ['"key"', '"other"', 'key is missing'],
    ['"key":"a', '"key":"A', 'key'],
    ['"sha256":"b', '"sha256":"../b', 'outputs.0.sha256'],
    ['b"', 'b/../x"', 'outputs.0.sha256'],
    ['"bytes":1234', '"bytes":-1', 'outputs.0.bytes'],
    ['"width":1536', '"width":"x"', 'outputs.0.width'],
    ['"picked":2', '"picked":0', 'picked'],
    ['"took_s":1.5', '"took_s":-1', 'took_s'],
    ['"model":"gpt-image-2"', '"model":2', 'model'],
    ['"credentials":true', '"credentials":1', 'outputs.0.credentials'],
    ['"prompt":"0123456789ab"', '"prompt":"x"', 'fields'],
    ['"prompt":"0', '"__proto__":"0', 'fields'],
    ['"prompt":"0', '"prompt x":"0', 'fields'],
  ])('%s as %s', (from, to, clause) => {
    const what = clause.includes(' ') ? clause : `${clause} is not what a lock has there`
    expect(refusal(written.replace(from, to))).toMatchObject({
      exit: 'usage',
      code: 'lock_invalid',
      message: `modelgate.lock:3: "hero": ${what}.`,
    })
  })

  test('usage that is nested too deeply', () => {
    const deep = written.replace('"total_tokens":110', `"a":${'['.repeat(1e4)}${']'.repeat(1e4)}`)
    expect(refusal(deep)).toMatchObject({
      message: 'modelgate.lock:3: "hero": usage is not what a lock has there.',
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
      message: 'modelgate.lock:3: "hero": outputs.0.path is not what a lock has there.',
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
      write: (lock: Parameters<typeof formatLock>[0]) => writeLock(context, project, lock),
    }
  }

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
    // It is written and compared in pieces.
    const lock = new Map(Array.from({ length: 250 }, (_, at) => [`hero-${at}`, block]))
    await write(lock)
    const text = readFileSync(project.lockPath, 'utf8')
    expect(text).toBe(formatLock(lock))
    writeFileSync(project.lockPath, text.replaceAll('\n', '\r\n'))
    utimesSync(project.lockPath, 1, 1)
    await write(lock)
    expect(statSync(project.lockPath).mtimeMs).toBe(1000)
    writeFileSync(project.lockPath, `${text}\n`)
    await write(lock)
    expect(readFileSync(project.lockPath, 'utf8')).toBe(text)
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

  test('the command that resolves a conflict is for the same lock', async () => {
    const folder = temporaryFolder()
    const project = projectOf(join(folder, 'canon.yaml'), true)
    mkdirSync(dirname(project.lockPath), { recursive: true })
    writeFileSync(project.lockPath, '<<<<<<< HEAD\n')
    await expect(readLock(testContext({ cwd: folder }), project)).rejects.toMatchObject({
      facts: { hint: 'Resolve them with: modelgate run merge --resolve -f canon.yaml --sandbox' },
    })
  })
})
