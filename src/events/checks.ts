import * as f from './fields.ts'

export type Check = f.Infer<typeof check>
export const check = f.shape('check', {
  name: f.text('what was checked'),
  verdict: f.oneOf(
    ['ok', 'warning', 'failed', 'skipped'],
    'what became of it; skipped: it could not be checked, or need not be',
  ),
  message: f.text('what was found'),
  remedy: f.textOrNull('what to do about it'),
  exit_code: f.integerOrNull('the exit code that the failure leads to; null for a check that has not failed'),
})

export type KeyVerdict = NonNullable<ProfileKey['check']>

/** The key of a profile, in `auth status`. */
export type ProfileKey = f.Infer<typeof profileKey>
const profileKey = f.shape('profile_key', {
  profile: f.text('name of the profile'),
  current: f.flag('whether it is the profile in use'),
  source: f.textOrNull('where its key comes from; null when it has none'),
  last_four: f.textOrNull('last four characters of the key; null when it is short or cannot be read'),
  stored: f.flag('whether auth login has stored a key for it, even if another source takes precedence'),
  base_url: f.textOrNull('the gateway that gets the key'),
  problem: f.textOrNull('why the key cannot be used'),
  warning: f.textOrNull('what else is wrong, such as a file that others can read'),
  check: f.orNull('what the gateway says of it; null without --check', {
    state: f.oneOf(['accepted', 'refused', 'unknown'], 'unknown: the gateway could not tell'),
    message: f.text('what was found'),
  }),
})

export type ChecksDocument = f.Infer<typeof checksDocument>
export const checksDocument = f.plainDocument(['doctor'], {
  verdict: f.oneOf(['ok', 'warning', 'failed'], 'the worst of all checks'),
  program: f.text('version of modelgate'),
  platform: f.text('operating system and processor'),
  checks: f.list('the checks, in their order', check),
})

export type KeysDocument = f.Infer<typeof keysDocument>
export const keysDocument = f.plainDocument(['auth status'], {
  profiles: f.list('the profiles, the one in use first', profileKey),
})
