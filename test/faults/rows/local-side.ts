import { FileError, OutputClosed } from '../../../src/errors.ts'
import { end, head, readAll, stall, write } from '../../support/server-replies.ts'
import type { Call } from '../calls.ts'
import type { Exchange } from '../exchanges.ts'
import { row, type FaultRow, type FaultVariant } from '../row.ts'
import { all, everywhere, isFirst, isRun, once } from './expectations.ts'

/** Writes a file, under a name that was said. */
const hasFile = (call: Call, exchange: Exchange) => isFirst(call, exchange) && call.argv.includes('-o')
/** The output is there. */
const precious = ({ leaves }: Call) => ({ files: { [Object.keys(leaves.files)[0]!]: 'precious' } })
/** A chat stops its answer, and goes on. */
const isNoChat = (call: Call, exchange: Exchange) => call.how === 'program' && isFirst(call, exchange)
const isAlone = (call: Call, exchange: Exchange) => isNoChat(call, exchange) && !isRun(call)

const full = new FileError('write_failed', 'Standard output cannot be written: no space left.')

const beginning = [readAll, write(head(200).slice(0, 20)), stall]
/** A signal while the gateway takes its time. */
const signalled = (
  signal: 'hangup' | 'interrupt' | 'terminate',
  exit: number,
  says: RegExp,
): readonly FaultVariant[] =>
  [
    once(`${signal} before the headers`, [readAll, stall], everywhere({ exit, says }), isNoChat),
    once(`${signal} in the headers`, beginning, everywhere({ exit, says }), isNoChat),
  ].map((variant) => ({ ...variant, trouble: () => ({ signal, stepMs: 1000 }) }))

/** G: what goes wrong on this machine. */
export const localSide: readonly FaultRow[] = [
  row(
    'G1',
    'standard output is closed early (`| head`)',
    'the request ends, quietly; files are saved, and a failure that is known comes first',
    [
      {
        name: 'from the beginning',
        // What prints before its result is there has been told by then that nobody reads.
        where: (call, exchange) =>
          isAlone(call, exchange) && call.begun === undefined && !/--partial-images|--wait/.test(call.name),
        trouble: () => ({ stdoutFails: new OutputClosed() }),
        expects: everywhere({ exit: 0, leaves: 'files' }),
      },
    ],
  ),
  row('G2', 'standard output is full', 'said, with the code of local files; what was made is kept', [
    {
      name: 'from the beginning',
      where: (call, exchange) => isAlone(call, exchange) && Object.keys(call.leaves.files).length === 0,
      trouble: () => ({ stdoutFails: full }),
      expects: everywhere({ exit: 10, says: /Standard output cannot be written/, leaves: 'files' }),
    },
  ]),
  row('G3', 'much is written, and then the program ends', 'everything is written first'),
  row('G4', 'nobody reads what is written', 'the gateway is not read either; the memory stays the same'),
  row(
    'G5',
    'standard input is a terminal, never ends, is binary, empty, or larger than the limit',
    'refused or passed over, and never waited for without a word',
  ),
  row(
    'G6',
    'no space, no permission, a read-only file system, a name that is too long, a folder in its place',
    'the temporary file is removed, the final one as it was; what was paid for is kept elsewhere',
    [
      {
        name: 'a name that is too long',
        where: hasFile,
        trouble: () => ({ more: ['-o', `${'x'.repeat(300)}.png`] }),
        expects: everywhere({ exit: 10, says: /too long/, attempts: 0 }),
      },
    ],
  ),
  row('G7', 'the folder of an output is missing, or is a file', 'made; or said before anything is sent', [
    {
      name: 'a device in its place',
      where: hasFile,
      trouble: (_, { leaves }) => ({ more: ['-o', `/dev/null/${Object.keys(leaves.files)[0]}`] }),
      expects: everywhere({ exit: 10, says: /not a folder/, attempts: 0 }),
    },
  ]),
  row('G8', 'the output exists', 'said before anything is sent; replaced with `--force`', [
    {
      name: 'without --force',
      // What was paid for gets a name of its own.
      where: (call, exchange) => hasFile(call, exchange) && exchange.role !== 'poll',
      trouble: (_, call) => precious(call),
      expects: everywhere({ exit: 10, says: /already exists/, attempts: 0 }),
    },
    {
      name: 'with --force',
      where: hasFile,
      trouble: (_, call) => ({ ...precious(call), more: ['--force'] }),
      expects: everywhere(all),
    },
    {
      name: 'with --force, and the request fails',
      where: hasFile,
      replies: () => [[readAll, write(head(400, { 'content-length': '0' })), end]],
      trouble: (_, call) => ({ ...precious(call), more: ['--force'] }),
      expects: everywhere({ exit: 4, says: /HTTP 400/ }),
    },
  ]),
  row(
    'G9',
    'SIGHUP, SIGINT, SIGTERM',
    'the request ends, temporary files go, the command that continues is printed',
    [
      ...signalled('hangup', 129, /Hung up\./),
      ...signalled('interrupt', 130, /Stopped\./),
      ...signalled('terminate', 143, /Terminated\./),
    ],
  ),
  row('G10', 'SIGKILL, a loss of power', 'final files are absent, as they were, or whole'),
  row(
    'G11',
    'a terminal that is one column wide, changes its size, is dumb, or is none',
    'no bar off a terminal; never a crash',
  ),
  row('G12', 'the program is suspended, and resumed', 'as F19'),
  row('G13', 'standard error is closed', 'nothing: the result is what counts', [
    {
      name: 'from the beginning',
      where: isAlone,
      trouble: () => ({ stderrFails: new OutputClosed() }),
      expects: everywhere(all),
    },
  ]),
  row(
    'G14',
    'no home directory, a read-only one, a file in place of the folder of the configuration',
    'works without configuration, and says what it cannot keep',
  ),
  row('G15', 'two processes with the same output', 'one wins wholly, the other says that the file exists'),
  row('G16', 'an error that nobody expected', 'one message that asks for a report, without key and prompt'),
]
