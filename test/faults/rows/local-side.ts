import { FileError, OutputClosed } from '../../../src/errors.ts'
import { end, head, readAll, stall, write, type ServerReply } from '../../support/server-replies.ts'
import type { Call } from '../calls.ts'
import type { Exchange, Role } from '../exchanges.ts'
import type { Expected, FaultRow, FaultVariant } from '../row.ts'
import { isRun } from './spoil.ts'

const all: Expected = { exit: 0, leaves: 'all' }
const every = (expected: Expected): Partial<Record<Role, Expected>> => ({
  text: expected,
  creation: expected,
  'look-up': expected,
  download: expected,
})

const isFirst = ({ exchanges }: Call, exchange: Exchange) => exchanges[0] === exchange
/** Writes a file, under a name that was said. */
const hasFile = (call: Call, exchange: Exchange) => isFirst(call, exchange) && call.argv.includes('-o')
const isAlone = (call: Call, exchange: Exchange) =>
  isFirst(call, exchange) && call.how === 'program' && !isRun(call)

const full = new FileError('write_failed', 'Standard output cannot be written: no space left.')

const silent: ServerReply = [readAll, stall]
const silentInHead: ServerReply = [readAll, write(head(200).slice(0, 20)), stall]

/** A signal while the gateway takes its time. */
const signalled = (
  signal: 'hangup' | 'interrupt' | 'terminate',
  exit: number,
  says: RegExp,
): readonly FaultVariant[] =>
  [
    { name: `${signal} before the headers`, reply: silent },
    { name: `${signal} in the headers`, reply: silentInHead },
  ].map(({ name, reply }) => ({
    name,
    // A chat stops its answer, and goes on.
    where: (call, exchange) => call.how === 'program' && isFirst(call, exchange),
    replies: () => [reply],
    trouble: () => ({ signal, stepMs: 1000 }),
    expects: every({ exit, says, leaves: 'nothing' }),
  }))

/** G: what goes wrong on this machine. */
export const localSide: readonly FaultRow[] = [
  {
    id: 'G1',
    fault: 'standard output is closed early (`| head`)',
    happens: 'the request ends, quietly; files are saved, and a failure that is known comes first',
    tried: [
      {
        name: 'from the beginning',
        // What prints before its result is there has been told by then that nobody reads.
        where: (call, exchange) =>
          isAlone(call, exchange) && call.begun === undefined && !/--partial-images|--wait/.test(call.name),
        trouble: () => ({ stdoutFails: new OutputClosed() }),
        expects: every({ exit: 0, leaves: 'files' }),
      },
    ],
    note: 'pipes: test/black-box/pipes.ci.test.ts',
  },
  {
    id: 'G2',
    fault: 'standard output is full',
    happens: 'said, with the code of local files; what was made is kept',
    tried: [
      {
        name: 'from the beginning',
        where: (call, exchange) => isAlone(call, exchange) && Object.keys(call.leaves.files).length === 0,
        trouble: () => ({ stdoutFails: full }),
        expects: every({ exit: 10, says: /Standard output cannot be written/, leaves: 'files' }),
      },
    ],
    note: '/dev/full: test/black-box/full-output.ci.test.ts',
  },
  {
    id: 'G3',
    fault: 'much is written, and then the program ends',
    happens: 'everything is written first',
    tried: [],
    note: 'test/black-box/pipes.ci.test.ts',
  },
  {
    id: 'G4',
    fault: 'nobody reads what is written',
    happens: 'the gateway is not read either; the memory stays the same',
    tried: [],
    note: 'test/files/stream-media.test.ts; its memory: test/bench/long-life.ts',
  },
  {
    id: 'G5',
    fault: 'standard input is a terminal, never ends, is binary, empty, or larger than the limit',
    happens: 'refused or passed over, and never waited for without a word',
    tried: [],
    note: 'test/commands/shared/input/standard-input.test.ts; test/black-box/loops-over-input.ci.test.ts',
  },
  {
    id: 'G6',
    fault: 'no space, no permission, a read-only file system, a name that is too long, a folder in its place',
    happens: 'the temporary file is removed, the final one as it was; what was paid for is kept elsewhere',
    tried: [
      {
        name: 'a name that is too long',
        where: hasFile,
        trouble: () => ({ more: ['-o', `${'x'.repeat(300)}.png`] }),
        expects: every({ exit: 10, says: /too long/, attempts: 0, leaves: 'nothing' }),
      },
    ],
    note: 'each call of the file system: test/faults/torture',
  },
  {
    id: 'G7',
    fault: 'the folder of an output is missing, or is a file',
    happens: 'made; or said before anything is sent',
    tried: [
      {
        name: 'a device in its place',
        where: hasFile,
        trouble: (_, { leaves }) => ({ more: ['-o', `/dev/null/${Object.keys(leaves.files)[0]}`] }),
        expects: every({
          exit: 10,
          says: /not a folder/,
          attempts: 0,
          leaves: 'nothing',
        }),
      },
    ],
  },
  {
    id: 'G8',
    fault: 'the output exists',
    happens: 'said before anything is sent; replaced with `--force`',
    tried: [
      {
        name: 'without --force',
        // What was paid for gets a name of its own.
        where: (call, exchange) => hasFile(call, exchange) && exchange.role !== 'poll',
        trouble: (_, { leaves }) => ({ files: { [Object.keys(leaves.files)[0]!]: 'precious' } }),
        expects: every({ exit: 10, says: /already exists/, attempts: 0, leaves: 'nothing' }),
      },
      {
        name: 'with --force',
        where: hasFile,
        trouble: (_, { leaves }) => ({
          files: { [Object.keys(leaves.files)[0]!]: 'precious' },
          more: ['--force'],
        }),
        expects: every(all),
      },
      {
        name: 'with --force, and the request fails',
        where: hasFile,
        replies: () => [[readAll, write(head(400, { 'content-length': '0' })), end]],
        trouble: (_, { leaves }) => ({
          files: { [Object.keys(leaves.files)[0]!]: 'precious' },
          more: ['--force'],
        }),
        expects: every({ exit: 4, says: /HTTP 400/, leaves: 'nothing' }),
      },
    ],
  },
  {
    id: 'G9',
    fault: 'SIGHUP, SIGINT, SIGTERM',
    happens: 'the request ends, temporary files go, the command that continues is printed',
    tried: [
      ...signalled('hangup', 129, /Hung up\./),
      ...signalled('interrupt', 130, /Stopped\./),
      ...signalled('terminate', 143, /Terminated\./),
    ],
    note: 'in a stream, at a prompt, between two attempts: test/program/scenarios; a second signal: test/black-box/signals.test.ts',
  },
  {
    id: 'G10',
    fault: 'SIGKILL, a loss of power',
    happens: 'final files are absent, as they were, or whole',
    tried: [],
    note: 'test/black-box/image-kills.long.test.ts, video-kills.long.test.ts; test/pipeline/run-kills.long.test.ts',
  },
  {
    id: 'G11',
    fault: 'a terminal that is one column wide, changes its size, is dumb, or is none',
    happens: 'no bar off a terminal; never a crash',
    tried: [],
    note: 'test/black-box/terminal.ci.test.ts; test/output/waiting',
  },
  {
    id: 'G12',
    fault: 'the program is suspended, and resumed',
    happens: 'as F19',
    tried: [],
    note: 'test/crashes/suspended.long.test.ts',
  },
  {
    id: 'G13',
    fault: 'standard error is closed',
    happens: 'nothing: the result is what counts',
    tried: [
      {
        name: 'from the beginning',
        where: isAlone,
        trouble: () => ({ stderrFails: new OutputClosed() }),
        expects: every(all),
      },
    ],
  },
  {
    id: 'G14',
    fault: 'no home directory, a read-only one, a file in place of the folder of the configuration',
    happens: 'works without configuration, and says what it cannot keep',
    tried: [],
    note: 'test/black-box/missing-home.test.ts',
  },
  {
    id: 'G15',
    fault: 'two processes with the same output',
    happens: 'one wins wholly, the other says that the file exists',
    tried: [],
    note: 'test/crashes/at-once.long.test.ts',
  },
  {
    id: 'G16',
    fault: 'an error that nobody expected',
    happens: 'one message that asks for a report, without key and prompt',
    tried: [],
    note: 'test/errors.test.ts',
  },
]
