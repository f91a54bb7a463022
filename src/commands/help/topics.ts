import { settingTable } from '../../config/setting-table.ts'
import { exitCodes } from '../../errors.ts'
import { templateTokens } from '../../files/output-plan.ts'
import { defaultMaxRetries } from '../../limits.ts'
import { wrap } from '../../output/line-breaks.ts'
import {
  formatExamples,
  formatRows,
  headingLine,
  type Example,
  type HelpRow,
} from '../../output/help-page.ts'

type Rows = readonly HelpRow[]

/** Help that belongs to no command. */
interface Topic {
  readonly about: string
  /** By heading: a paragraph, after which lines may follow that are shown as they are, or rows. */
  readonly blocks: Readonly<Record<string, string | Rows>>
  readonly examples: readonly Example[]
}

const otherVariables: Rows = [
  ['MODELGATE_API_KEY', 'the key'],
  ['MODELGATE_CONFIG_DIR', 'folder of the user file and the credentials'],
  ['MODELGATE_STATE_DIR', 'folder of the records of calls and jobs, and of rescued results'],
  ['MODELGATE_MAX_CREATES', 'how many texts, images and videos may be created, by all commands together'],
  ['MODELGATE_COUNT_SINCE', 'when counting starts: a time, or an age such as 24h (local midnight)'],
  ['HTTPS_PROXY, HTTP_PROXY', 'proxies, by the scheme of the address'],
  ['ALL_PROXY, NO_PROXY', 'the proxy for both, and hosts that need none'],
  ['NODE_EXTRA_CA_CERTS', 'further certificate authorities (PEM file)'],
  ['AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY', 'access key of the S3 bucket given as --store'],
  ['AWS_SESSION_TOKEN', 'session token of temporary credentials'],
  ['AWS_PROFILE, AWS_SHARED_CREDENTIALS_FILE', 'where that key is, if not in the environment'],
  ['AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL', "endpoint of the S3 server, if not Amazon's"],
  ['AWS_REGION, AWS_DEFAULT_REGION', 'region of the bucket'],
  ['NO_COLOR, FORCE_COLOR, TERM=dumb', 'colours on a terminal'],
  ['CI', 'never ask; run generates nothing without --generate'],
  ['GITHUB_ACTIONS', 'messages for a log, as with CI; errors also as annotations'],
  ['GITHUB_OUTPUT', 'the file that --github-output writes to, and run its counts'],
  ['GITHUB_STEP_SUMMARY', 'the file that run writes its summary to'],
  ['TF_BUILD, TEAMCITY_VERSION', 'messages for a log, as with CI'],
  ['FORCE_HYPERLINK', 'links on a terminal: 1 always, 0 never'],
  ['COLUMNS', 'width of --render always in a pipe'],
  ['LC_ALL, LC_CTYPE, LANG', 'doctor: whether the terminal speaks UTF-8'],
  ['XDG_CONFIG_HOME', 'where the user file lives'],
  ['XDG_STATE_HOME', 'where the records of calls and jobs, and rescued results, are'],
  ['XDG_CACHE_HOME', 'where compiled code is kept between runs'],
  ['NODE_COMPILE_CACHE', 'another folder for compiled code'],
  ['NODE_DISABLE_COMPILE_CACHE', 'keep no compiled code'],
  ['APPDATA, LOCALAPPDATA', 'on Windows, in place of the XDG folders'],
  ['HOME, USERPROFILE', 'the home directory'],
]

export const terminalVariables =
  'COLORTERM, DOMTERM, GHOSTTY_RESOURCES_DIR, KITTY_WINDOW_ID, KONSOLE_VERSION, LC_TERMINAL, STY, TERM, TERM_PROGRAM, TERM_SESSION_ID, TMUX, TMUX_PANE, VTE_VERSION, WEZTERM_PANE, WINDOWID, WT_SESSION'.split(
    ', ',
  )

/** What most people set, first. */
const mainVariables = 'BASE_URL API_KEY TEXT_MODEL IMAGE_MODEL VIDEO_MODEL PROFILE'.split(' ')

/** All environment variables, each with what it is; those of settings name the setting as files have it. */
export function environmentRows(): Rows {
  const settings = Object.values(settingTable).flatMap(({ env, file, about }) =>
    env === undefined ? [] : [[env, `${about} (setting ${file})`] as const],
  )
  const rows = new Map([...settings, ...otherVariables])
  const main = mainVariables.map((name) => `MODELGATE_${name}`)
  // A key keeps its first place.
  return [...new Map([...main.map((name) => [name, rows.get(name)!] as const), ...rows])]
}

const placeholders = {
  index: 'number of the result, from 1',
  ext: 'extension of the result, without the dot',
  model: 'model that was asked',
  date: 'day in UTC, as 2026-08-20',
  slug: 'first words of the prompt',
  id: "id of the gateway's reply, or of the job",
} as const satisfies Record<(typeof templateTokens)[number], string>

export const topics: Readonly<Record<string, Topic>> = {
  'exit-codes': {
    about: 'what each code means, and what a script may do',
    blocks: {
      'How modelgate ends:': Object.values(exitCodes).map(
        ({ code, meaning, advice }) =>
          [
            String(code).padStart(3),
            // The marks are for the tables of the documentation.
            (advice === '' ? meaning : `${meaning} -> ${advice}`).replaceAll('`', ''),
          ] as const,
      ),
      'In scripts:':
        'New codes may be added: treat an unknown code as failure. An HTTP status is never an exit code. With --json the error on standard error has the code as exit_code, and next: the command to run next, where there is one.',
    },
    examples: [
      ['modelgate wait --last; test $? -eq 11 && echo "not yet"'],
      ['modelgate respond --json -m MODEL "Hi" 2>error.json || jq -r .error.code error.json'],
    ],
  },
  environment: {
    about: 'every variable that the program reads',
    blocks: {
      'Environment variables:': environmentRows(),
      'Set by terminals:': `${terminalVariables.join(', ')} and others: which pictures they show, and which one it is.`,
      'Order:':
        'A flag takes precedence over the environment, then the project file, the user file and the default. An empty variable counts as unset.',
    },
    examples: [
      ['export MODELGATE_BASE_URL=https://HOST'],
      ['export MODELGATE_API_KEY=... MODELGATE_TEXT_MODEL=ID'],
      ['modelgate respond "Hello"'],
    ],
  },
  formatting: {
    about: 'what is printed where, and how files are named',
    blocks: {
      'Streams:':
        'Standard output is the result and nothing else: text, or the paths of the files written, one per line. Messages, progress and errors go to standard error; -q leaves errors alone.',
      'Forms of the result:': [
        ['--json', 'one JSON document at the end; a failure prints one on standard error'],
        ['--jsonl', 'events as they happen, one JSON object per line; the last is end or error'],
        ['--raw', "the gateway's own JSON, untouched"],
        ['--usage', 'the token counts as well, on standard error'],
        ['--render auto', 'text: Markdown rendered on a terminal, unchanged in a pipe'],
        ['-x', 'text: only the first fenced code block of the answer'],
        ['-o FILE', "a file; text is exactly the model's bytes, an extension selects the format"],
        ['-o DIR/', 'a folder, with names made from the prompt'],
        ['-o -', 'the bytes of one image or video on standard output'],
      ],
      'Placeholders of -o:': templateTokens.map((token) => [`{${token}}`, placeholders[token]] as const),
      'Descriptions:':
        'The formats are versioned, and fields are only added. modelgate schema output prints the JSON Schema of every document, schema events that of the lines; modelgate help --json describes the commands and flags.',
    },
    examples: [
      ['modelgate respond --json -m MODEL "Hi" | jq -r .text'],
      ['modelgate image create -m MODEL -n 3 -o "{slug}-{index}.{ext}" "A hill"'],
      ['modelgate schema events', 'what a line of --jsonl can be'],
    ],
  },
  money: {
    about: 'what may be billed, what is retried, how to spend less',
    blocks: {
      'Retried, because it cannot have been accepted:': `A request whose connection failed before all of it was handed over, and one that was answered with 408, 425, 429, 503 or 529; text also after 500, 502 and 504, as long as nothing has been shown. At most ${defaultMaxRetries} times (--max-retries), with the same Idempotency-Key. With --retry never nothing is retried, with --retry always what may be billed twice, too.`,
      'Not sent again:': `Whatever was sent and then lost ends with exit code ${exitCodes.unknown.code}, and says that it may have been billed: look before you run it again. In --json, error.billed is no, maybe or yes.`,
      'Before anything is sent:': [
        ['--dry-run', 'the exact request, with nothing sent; --curl as a command to paste'],
        ['--sandbox', 'the same command against the built-in gateway, at no cost'],
        ['--skip-existing', 'images: create only those whose files do not exist yet'],
        ['limits', 'checked first: a call outside them ends with exit code 2, unbilled'],
      ],
      'Limits of your own:': `--max-creates is for one call. MODELGATE_MAX_CREATES counts what all calls on this machine create since local midnight, or since MODELGATE_COUNT_SINCE; --max-cost holds their estimated cost, where prices are configured. Where one is reached nothing is sent, and the exit code is ${exitCodes.limit.code}.`,
      'Never paid for twice:':
        'A job is recorded before waiting begins: modelgate wait continues in any shell, and fetches finished results for free; modelgate jobs lists them. What cannot be written is kept in the rescue folder, and its path is printed.',
    },
    examples: [
      ['modelgate image create -m MODEL --dry-run "A hill"'],
      ['modelgate respond -m MODEL --retry never "Hi"'],
      ['modelgate wait --last', 'fetch what is paid for'],
    ],
  },
  sandbox: {
    about: 'the built-in gateway: everything offline, at no cost',
    blocks: {
      'Inside a command:':
        '--sandbox starts a gateway on this machine for one command: no address, no key, no cost. It checks requests as the documented gateway does, and returns real text, images and videos, clearly marked. Jobs survive from one command to the next.',
      'As a server:':
        'modelgate sandbox serves the same until Ctrl-C; its first line is its address. Any key except "invalid" is accepted. Official clients work against it.',
      'Faults:':
        '--faults FILE breaks replies by rule: statuses, resets, stalls, cut events; so a script can be tested before it costs money. A word in a prompt asks for an answer of a kind: sandbox:refusal.',
      'Recordings:':
        '--record DIR keeps the replies of a real gateway, without secrets; --replay DIR answers only from them.',
    },
    examples: [
      ['modelgate respond --sandbox "hello"'],
      ['modelgate sandbox --port 8080 --faults faults.yaml'],
      ['export MODELGATE_BASE_URL=http://127.0.0.1:8080'],
      ['export MODELGATE_API_KEY=sk-sandbox-0000000000'],
      ['modelgate respond -m MODEL "hello"'],
    ],
  },
  pipelines: {
    about: 'assets from a file, and calls in scripts, loops and CI',
    blocks: {
      'Assets that a project ships:': [
        'modelgate run makes what modelgate.yaml describes: images, texts and videos, each with its prompt, from a list or from each other. What was made is in modelgate.lock: it is never made again by accident, nor paid for twice after a kill. modelgate schema manifest describes the file for an editor. modelgate run init writes one to start from. For example:',
        '',
        '  version: 1',
        '  jobs:',
        '    photos:',
        '      each: products.csv # id and name',
        '      image create:',
        '        model: gpt-image-2',
        "        prompt: '${name} on white'",
        "      out: 'assets/${id}.png'",
      ].join('\n'),
      'Several candidates, changed files, failed asserts:':
        'variants: 3 makes three; run report shows them, run pick JOB 2 chooses, and pick: 2 in the manifest makes that one alone. A file that was changed by hand is left as it is until run adopt JOB or --force. A result that fails its assert is kept, and not generated again automatically. Each run ends with what is left to do, and the commands for it.',
      'The same in CI:': `Where CI is set, run generates nothing without --generate. run --check needs neither key nor network, and ends with exit code ${exitCodes.outdated.code} unless everything is up to date. --shard 2/5 makes one part of five; run merge puts them together. In GitHub Actions the summary, annotations and outputs such as up_to_date, created, failed and files are written without being asked.`,
      'Single calls:':
        'Nothing asks or hangs without a terminal. The exit code says what happened, standard output is the result; --json has all of it as one document, files with their sizes and digests included.',
      'Standard input:':
        'Text commands join a pipe with the prompt. In a loop over a pipe give --no-stdin or set MODELGATE_NO_STDIN=1, so that the list stays with the loop.',
      'Again without paying again:':
        'With --skip-existing, a repeated command creates only the images that are missing. Files get their names when they are complete. Videos are started first, and waited for together.',
      'When a call fails:': [
        [`exit ${exitCodes.later.code}`, 'wait, at least error.retry_after_s seconds, and run it again'],
        [`exit ${exitCodes.notSent.code}`, 'run it again: nothing was sent'],
        [`exit ${exitCodes.unknown.code}`, 'look first: it may have been billed'],
        [`exit ${exitCodes.running.code}`, 'continue waiting with the command shown'],
      ],
    },
    examples: [
      ['modelgate run --plan', 'what would be made, and why'],
      ['modelgate run --check', 'is everything up to date?'],
      ['modelgate image create -m MODEL --skip-existing -o art/hill.png "A hill"'],
      ['modelgate video generate -m MODEL --no-wait "A boat"'],
      ['modelgate wait --all -o clips/'],
    ],
  },
}

export function formatTopic({ blocks, examples }: Topic, columns: number): string {
  const parts = Object.entries(blocks).map(([heading, block]) => {
    if (typeof block !== 'string') return `${headingLine(heading, columns)}\n${formatRows(block, columns)}`
    const [paragraph, ...lines] = block.split('\n')
    return [headingLine(heading, columns), wrap(`  ${paragraph}`, columns, '  '), ...lines].join('\n')
  })
  return [...parts, formatExamples(examples, columns)].join('\n\n')
}
