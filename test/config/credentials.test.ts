import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { storedProfiles, storeKey } from '../../src/config/credentials.ts'
import { systemClock } from '../../src/context.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { configPlace, failureOf } from '../support/config-place.ts'

const credentials = '.config/modelgate/credentials.json'

test('a stored key is the one that is found, in a private file', async () => {
  const place = configPlace()
  expect(await storeKey(place.context, 'default', 'sk-0123456789')).toMatchObject({ changed: true })
  await storeKey(place.context, 'work', 'sk-work-456789')
  const file = join(place.home, credentials)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file, 'utf8')).toBe(
    '{\n  "profiles": {\n    "default": {\n      "api_key": "sk-0123456789"\n    },\n    "work": {\n      "api_key": "sk-work-456789"\n    }\n  }\n}\n',
  )
  const { apiKey } = await resolveSettings(place.context, { profile: 'work' })
  expect((await apiKey()).value).toBe('sk-work-456789')
  expect(storedProfiles(place.context)).toEqual(['default', 'work'])
})

test('only the key of the profile is removed', async () => {
  const stored = { profiles: { default: { api_key: 'a-key' }, work: { api_key: 'b-key', note: 1 } }, more: 2 }
  const place = configPlace({ credentials: stored })
  expect(await storeKey(place.context, 'default', undefined)).toMatchObject({ changed: true })
  expect(await storeKey(place.context, 'default', undefined)).toMatchObject({ changed: false })
  await storeKey(place.context, 'work', 'c-key')
  expect(JSON.parse(readFileSync(join(place.home, credentials), 'utf8'))).toEqual({
    profiles: { work: { api_key: 'c-key', note: 1 } },
    more: 2,
  })
  expect(await storeKey(configPlace().context, 'default', undefined)).toMatchObject({ changed: false })
})

test('a file that others can read becomes private', async () => {
  const stored = { profiles: { default: { api_key: 'a-key' } } }
  const place = configPlace({ credentials: stored, credentialsMode: 0o644 })
  expect(storedProfiles(place.context)).toEqual(['default'])
  await storeKey(place.context, 'default', 'a-key')
  expect(statSync(join(place.home, credentials)).mode & 0o777).toBe(0o600)
})

test('a key is not stored where it could not be read, and a damaged file not replaced', async () => {
  const { context, scrub } = configPlace()
  expect(await failureOf(() => storeKey(context, '__proto__', 'a-key'))).toMatchInlineSnapshot(`
    "2 config_invalid (config)
    "__proto__" is not allowed as a name."
  `)
  expect(await failureOf(() => storeKey({ ...context, home: '' }, 'default', 'a-key')))
    .toMatchInlineSnapshot(`
    "2 config_invalid (config)
    There is no place for a credentials file, because no home directory is known.
    hint: Name a folder with MODELGATE_CONFIG_DIR."
  `)
  const damaged = configPlace({ credentials: '{"profiles": ' })
  expect(damaged.scrub(await failureOf(() => storeKey(damaged.context, 'default', 'a-key'))))
    .toMatchInlineSnapshot(`
      "2 config_invalid (config)
      HOME/.config/modelgate/credentials.json:1:14: not valid JSON: expected a value."
    `)
  expect(scrub(context.home)).toBe('HOME')
})

test('two logins at once: neither key is lost', async () => {
  const { home, context: quiet } = configPlace({ credentials: { profiles: {} } })
  const context = { ...quiet, clock: systemClock }
  const names = ['a', 'b', 'c', 'd']
  await Promise.all(names.map((name) => storeKey(context, name, `key-of-${name}`)))
  const { profiles } = JSON.parse(readFileSync(join(home, credentials), 'utf8')) as { profiles: object }
  expect(Object.keys(profiles).toSorted()).toEqual(names)
})

test('the lock of a program that was killed is not waited for', async () => {
  const { context, home } = configPlace({ credentials: { profiles: {} } })
  const lock = join(home, `${credentials}.lock`)
  writeFileSync(lock, '')
  utimesSync(lock, 0, context.clock.now() / 1000 - 11)
  await storeKey(context, 'default', 'a-key')
  expect(storedProfiles(context)).toEqual(['default'])
})
