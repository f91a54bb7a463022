import type { Survivors } from '../survivors.ts'

export const keys: readonly Survivors[] = [
  {
    file: 'src/config/key.ts',
    reason: 'A setting that was made at one of these levels has a value.',
    changes: [
      ['file.value !== undefined', 'true'],
      ['command.value !== undefined', 'true'],
    ],
  },
  {
    file: 'src/config/key.ts',
    reason: 'Where there is no place for a credentials file, no key is read from it, either.',
    changes: [
      ['path === undefined', 'false'],
      ['file === undefined', 'false'],
    ],
  },
  {
    file: 'src/config/key.ts',
    reason: 'What is undefined does not exist.',
    changes: [['home !== undefined', 'true']],
  },
  {
    file: 'src/config/key.ts',
    reason: 'The output of the command is a pipe, so the stream is always there.',
    changes: [
      ['child.stdout?.on', 'child.stdout.on'],
      ['child.stdout?.destroy', 'child.stdout.destroy'],
    ],
  },
  {
    file: 'src/config/key.ts',
    reason: 'Once the command has ended or been given up, a listener that is left changes nothing.',
    changes: [
      ['{ once: true }', '{}'],
      ["'abort'", '""'],
    ],
  },
  {
    file: 'src/config/key.ts',
    reason: 'Only Windows would show a window, and the listener is removed anyway.',
    changes: [['true', 'false']],
  },
  {
    file: 'src/config/key.ts',
    reason: 'The error that there are no profiles to look in is caught like any other.',
    changes: [['(await readProfiles(context))?.[profile]', '(await readProfiles(context))[profile]']],
  },
  {
    file: 'src/config/credentials.ts',
    reason: 'Where there is no place for a credentials file, there is no text, either.',
    changes: [
      ['path === undefined || text === undefined', 'path === undefined && text === undefined'],
      ['path === undefined', 'false'],
    ],
  },
  {
    file: 'src/config/trust.ts',
    reason: 'A root that does not exist is resolved to itself in the end, too.',
    changes: [['parent === path', 'false']],
  },
  {
    file: 'src/config/key.ts',
    reason:
      'A shell that is not there, or no folder, is thrown; what is left for the event cannot be brought about.',
    changes: [["'error'", '""'], ['(error) => fail(notStarted, error)']],
  },
  {
    file: 'src/config/key.ts',
    reason: 'Whoever runs the tests does not end by itself.',
    changes: [['child.unref()', ';']],
  },
  {
    file: 'src/config/trust.ts',
    reason:
      'Each setting that a project may only lower has `allows`, `wouldDo` and a flag; the rest is for the types.',
    changes: [
      ["''", '"Stryker was here!"'],
      ['allows?.(value as NonNullable<unknown>)', 'allows(value as NonNullable<unknown>)'],
      ['flag === undefined', 'false'],
    ],
  },
  {
    file: 'src/config/trust.ts',
    reason:
      'Folders end at the root; what might go on for ever are links, whose exact number does not matter.',
    changes: [
      ['links > maxLinks', 'links >= maxLinks'],
      ['links + 1', 'links - 1'],
    ],
  },
  {
    file: 'src/config/trust.ts',
    reason: 'A function without a result returns undefined.',
    changes: [['{\n    return undefined\n  }', '{}']],
  },
]
