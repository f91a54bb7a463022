import type { Survivors } from '../survivors.ts'

const noCode = 'No error of a system has that code.'

export const atomicFiles: readonly Survivors[] = [
  {
    file: 'src/files/atomic-file.ts',
    reason: 'What has not been flushed on the way is flushed at the end.',
    changes: [
      ['sync.wrote(chunk.length)'],
      ['unsynced < unsyncedBytes', 'unsynced <= unsyncedBytes'],
      ['() => (running = undefined)', '() => undefined'],
    ],
  },
  {
    file: 'src/files/atomic-file.ts',
    reason: 'A buffer that is larger than needed is filled only as far as needed.',
    changes: [['Math.min(bytes, 1_048_576)', 'Math.max(bytes, 1_048_576)']],
  },
  {
    file: 'src/files/atomic-file.ts',
    reason: 'A copy of the bytes is written and hashed like the bytes.',
    changes: [["typeof chunk === 'string'", 'true']],
  },
  { file: 'src/files/atomic-file.ts', reason: noCode, changes: [["''", '"Stryker was here!"']] },
  {
    file: 'src/files/atomic-file.ts',
    reason: 'That is not the name of a temporary file.',
    changes: [['[]', '["Stryker was here"]']],
  },
  {
    file: 'src/files/open-atomic-file.ts',
    reason: 'Where there is no folder, the error says so already and needs no path.',
    changes: [["''", '"Stryker was here!"']],
  },
  {
    file: 'src/files/open-atomic-file.ts',
    reason: 'Only the message of this error is used: the code is that of the first one.',
    changes: [["'no_state_folder'", '""']],
  },
  {
    file: 'src/files/open-atomic-file.ts',
    reason: 'A time in ISO form has one full stop, and its Z is the last character.',
    changes: [['/[-:]|\\.\\d+Z$/g', '/[-:]|\\.\\d+Z/g']],
  },
  { file: 'src/files/write-target.ts', reason: noCode, changes: [["''", '"Stryker was here!"']] },
  {
    file: 'src/files/write-target.ts',
    reason: 'To a condition undefined is as good as false.',
    changes: [['() => false', '() => undefined']],
  },
  {
    file: 'src/files/atomic-file.ts',
    reason: 'To close or to remove twice fails without a word.',
    changes: [
      ['!isOpen', 'false'],
      ['false', 'true'],
    ],
  },
  {
    file: 'src/files/atomic-file.ts',
    reason:
      'It takes a second fault at once: a file that is removed, and a disk that fails while it is written again.',
    changes: [
      ['{ spareName, takeOver }', '{}'],
      ['{\n      await again?.discard()\n      return undefined\n    }', '{}'],
      ["systemCode(error) === 'ENOENT'", 'true'],
    ],
  },
  {
    file: 'src/files/atomic-file.ts',
    reason: 'The default of the system is the same, and a mode that was given is set in the end.',
    changes: [['target.mode ?? 0o666', 'target.mode && 0o666']],
  },
  {
    file: 'src/files/atomic-file.ts',
    reason:
      'A folder that was moved away is not at its path, so that nothing can be written there again, either.',
    changes: [['(await handle.stat()).nlink > 0', 'false']],
  },
  {
    file: 'src/files/atomic-file.ts',
    reason: 'A file that vanishes while it is looked at is younger than a day.',
    changes: [['found?.isFile', 'found.isFile']],
  },
  {
    file: 'src/files/open-atomic-file.ts',
    reason: 'To close twice fails without a word.',
    changes: [
      ['!closed', 'true'],
      ['true', 'false'],
    ],
  },
  {
    file: 'src/files/write-target.ts',
    reason: 'The root is always there.',
    changes: [['above === path', 'false']],
  },
  {
    file: 'src/files/write-target.ts',
    reason: 'Targets are only told from streams.',
    changes: [["'file'", '""']],
  },
  {
    file: 'src/files/write-target.ts',
    reason: 'The exact number of names that are tried does not matter.',
    changes: [['count > maxNames', 'count >= maxNames']],
  },
]
