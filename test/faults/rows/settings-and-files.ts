import type { Call } from '../calls.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import { everywhere, isFirst } from './expectations.ts'

/** Nothing is sent, and nobody is asked. */
const unsent = (exit: number, says: RegExp, error: Expected['error'] = {}): Expected => ({
  exit,
  says,
  error: { billed: 'no', http_status: null, ...error },
  attempts: 0,
  leaves: 'nothing',
})

const setting = (
  name: string,
  env: Readonly<Record<string, string | undefined>>,
  expected: Expected,
  isSampled = true,
): FaultVariant => ({
  name,
  // A report tells of settings in its own words.
  where: (call, exchange) => isFirst(call, exchange) && exchange.role !== 'report' && call.how === 'program',
  ...(isSampled && { isSampled }),
  trouble: () => ({ env }),
  expects: everywhere(expected),
})

const address = (name: string, url: string, says: RegExp, isSampled = true): FaultVariant => ({
  ...setting(name, { MODELGATE_BASE_URL: url }, unsent(2, says, { phase: 'config' }), isSampled),
})
const key = (name: string, text: string, says: RegExp, isSampled = true): FaultVariant =>
  setting(name, { MODELGATE_API_KEY: text }, unsent(2, says, { phase: 'config' }), isSampled)

const takesFile = ({ name }: Call): boolean => ['generate', 'respond', 'image edit'].includes(name)
/** An attachment, or the picture that is to be edited. */
const file = (
  name: string,
  expected: Expected,
  files: Readonly<Record<string, string | Uint8Array>> = {},
  path = 'other.png',
): FaultVariant => ({
  name,
  where: takesFile,
  trouble: (_, { argv }) => ({
    files,
    more: argv[0] === 'image' ? ['--image', path] : ['-a', path],
  }),
  expects: { text: expected, creation: expected },
})

/** A16 to A22: what is found before a connection is opened. */
export const settingsAndFiles: readonly FaultRow[] = [
  row(
    'A16',
    'a base URL that is none, or has the port of another protocol',
    'said at once; nothing is sent',
    [
      address('the port of X11', 'http://127.0.0.1:6000', /uses port 6000/, false),
      address('a port that no URL has', 'http://127.0.0.1:99999', /is not a valid URL/),
      address('no scheme', '127.0.0.1:8080', /must start with https:\/\/ or http:\/\//),
      address(
        'a password in it',
        'http://user:word@127.0.0.1:8080',
        /must not contain a user name or password/,
      ),
      address('a line break in it', 'http://127.0.0.1:8080\n/v1', /MODELGATE_BASE_URL contains a line break/),
    ],
  ),
  row(
    'A17',
    'http:// to another machine',
    'refused, unless --allow-http allows to send the key in clear text',
    [
      address(
        'another host',
        'http://gateway.invalid',
        /would send the key to gateway\.invalid in clear text/,
        false,
      ),
    ],
  ),
  row(
    'A18',
    'a key with a line break, other than ASCII, or nothing in it',
    'refused; the message does not show it',
    [
      key('a line break', 'some\nkey', /The API key \(.*MODELGATE_API_KEY\) /, false),
      key('CR and LF', 'some\r\nx-evil: 1', /The API key \(.*MODELGATE_API_KEY\) /),
      key('letters beyond ASCII', 'schlüssel', /The API key \(.*MODELGATE_API_KEY\) /),
      key('only white space', '  ', /The API key \(.*\) contains white space/),
      setting(
        'nothing',
        { MODELGATE_API_KEY: '' },
        unsent(3, /No API key is set|The API key \(.*\) is empty/),
      ),
    ],
  ),
  row('A19', 'no key', 'said before any host is looked up', [
    setting(
      'none',
      { MODELGATE_API_KEY: undefined },
      unsent(3, /No API key is set\./, { code: 'key_missing', phase: 'config' }),
      false,
    ),
  ]),
  row(
    'A20',
    'an input file that is missing, empty, too large, a folder, or of another kind',
    'said before connecting',
    [
      file('missing', unsent(10, /"other\.png" cannot be read: it does not exist/)),
      file('a folder', unsent(10, /"folder" .*(folder|directory)/), { 'folder/x': '' }, 'folder'),
      file('empty', unsent(2, /"other\.png".* (is empty|no image|not an image|0 bytes)/), {
        'other.png': '',
      }),
      {
        ...file('not a picture', unsent(2, /"other\.png"/), { 'other.png': Buffer.from([1, 2, 3, 0]) }),
        where: ({ name }) => name === 'image edit',
      },
    ],
  ),
  row(
    'A21',
    'a file changes its size while it is uploaded',
    'aborted, not repeated',
    [],
    'shown by test/gateway/multipart.test.ts: exit 10',
  ),
  row(
    'A22',
    'no more files can be opened (EMFILE)',
    'said like any file that cannot be read; files are opened one at a time',
    [],
    'shown by test/files/read-input-file.test.ts: exit 10',
  ),
]
