import {
  define,
  flag,
  integerOrNull,
  list,
  object,
  oneOf,
  orNull,
  text,
  textOrNull,
  version,
  type Infer,
} from './output-schema.ts'

const verdicts = ['ok', 'warning', 'failed', 'skipped'] as const

/** One check of `doctor`. */
export type Check = Infer<typeof check.schema>
const check = define(
  'check',
  object({
    name: text('what was checked'),
    verdict: oneOf(verdicts, 'what became of it; skipped: it could not be checked, or need not be'),
    message: text('what was found'),
    remedy: textOrNull('what to do about it'),
    exit_code: integerOrNull('the exit code that the failure leads to; null for a check that has not failed'),
  }),
)

export type KeyVerdict = Infer<typeof keyVerdict>
const keyVerdict = object({
  state: oneOf(['accepted', 'refused', 'unknown'], 'unknown: the gateway could not tell'),
  message: text('what was found'),
})

/** The key of a profile, in `auth status`. */
export type ProfileKey = Infer<typeof profileKey.schema>
const profileKey = define(
  'profile_key',
  object({
    profile: text('name of the profile'),
    current: flag('whether it is the profile in use'),
    source: textOrNull('where its key comes from; null when it has none'),
    last_four: textOrNull('last four characters of the key; null when it is short or cannot be read'),
    stored: flag('whether auth login has stored a key for it, even if another source takes precedence'),
    base_url: textOrNull('the gateway that gets the key'),
    problem: textOrNull('why the key cannot be used'),
    warning: textOrNull('what else is wrong, such as a file that others can read'),
    check: orNull(keyVerdict, 'what the gateway says of it; null without --check'),
  }),
)

export const checkDefinitions = [check, profileKey] as const

export const checkEvents = {
  /** A check of `doctor` has come to its end. */
  'check-end': { check: check.reference },
}

/** The document of `doctor`. */
export type ChecksDocument = Infer<typeof checksDocument>
export const checksDocument = object({
  version,
  command: oneOf(['doctor'], 'the command that ran'),
  verdict: oneOf(['ok', 'warning', 'failed'], 'the worst of all checks'),
  program: text('version of modelgate'),
  platform: text('operating system and processor'),
  checks: list(check.reference, 'the checks, in their order'),
})

/** The document of `auth status`. */
export type KeysDocument = Infer<typeof keysDocument>
export const keysDocument = object({
  version,
  command: oneOf(['auth status'], 'the command that ran'),
  profiles: list(profileKey.reference, 'the profiles, the one in use first'),
})
