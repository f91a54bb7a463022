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
]
