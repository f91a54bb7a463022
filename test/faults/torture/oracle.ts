import { exitCodes } from '../../../src/errors.ts'
import { isReport, type Call } from '../calls.ts'
import type { Exchange } from '../exchanges.ts'
import type { CaseEnd } from './perform-case.ts'

const documented = new Set<number>(Object.values(exitCodes).map(({ code }) => code))

/**
 * What is wrong about the end of a call of the program, one of whose calls to the system failed.
 * @param before the files that it found
 * @param golden the same with nothing that failed
 * @param again runs it once more, and nothing fails
 */
export async function problemsOf(
  call: Call,
  before: CaseEnd['files'],
  golden: CaseEnd,
  end: CaseEnd,
  again: () => Promise<CaseEnd>,
): Promise<string[]> {
  if (end.exit === undefined) return ['it hangs']
  // Of calls that overlap one may come late, and then not at all.
  if (end.failed === undefined) return end.exit === 0 ? [] : [`exit ${end.exit} without a fault`]
  const problems = [
    ...problemsOfEnd(call, golden, end),
    ...problemsOfFiles(call, before, golden, end),
    ...problemsOfPayment(call, end),
  ]
  const mayRunAgain = call.argv[0] === 'run' && call.argv[1] === '--yes' && end.failed.port === 'file'
  return problems.length > 0 || !mayRunAgain ? problems : problemsOfNext(call, golden, end, await again())
}

/** Its exit code is documented, and its message in plain words. */
function problemsOfEnd(
  call: Call,
  golden: CaseEnd,
  { exit, stdout, stderr, failed, requests }: CaseEnd,
): string[] {
  const problems: string[] = []
  const found = (isWrong: boolean, what: string) => void (isWrong && problems.push(what))
  found(!documented.has(exit!) || exit === 1 || /\bbug\b/.test(stderr), `exit ${exit}`)
  found(/^\s+at .*:\d+|injected|\[object/m.test(stdout + stderr), 'not in plain words')
  found(exit !== 0 && stderr.trim() === '' && !isReport(call), 'says nothing')
  if (failed!.port === 'file') {
    // What tells the program what to do, and cannot be read, is wrong like any mistake in it.
    const isInput =
      /modelgate\.yaml$|\.config\/modelgate|\/parts\//.test(failed!.path) && requests.length === 0
    const isNamed = exit === 2 && isInput && /cannot be (?:read|looked at)|or not what it was/.test(stderr)
    // What the store cannot read back is missing there, and the next run restores it.
    const isLost =
      exit === 13 && /\.modelgate\/replaced\//.test(failed!.path) && /bytes are gone/.test(stderr)
    found(exit !== 0 && exit !== 10 && !isNamed && !isLost, `exit ${exit}`)
    found(/outcome|unknown/i.test(stderr), 'an unknown outcome')
  }
  // A list without what cannot be read says so.
  const isTold =
    stdout === golden.stdout || call.how === 'chat' || isReport(call) || /^warning: /m.test(stderr)
  found(exit === 0 && !isTold, 'exit 0, and not all is on standard output')
  return problems
}

/** Final files are as they were, or whole; nothing else is left, and nothing open. */
function problemsOfFiles(call: Call, before: CaseEnd['files'], golden: CaseEnd, end: CaseEnd): string[] {
  const problems: string[] = []
  const found = (isWrong: boolean, what: string) => void (isWrong && problems.push(what))
  const [own, right] = [outputsOf(end), outputsOf(golden)]
  for (const [path, bytes] of Object.entries(own)) {
    // What was damaged on its way is kept under a name that says so.
    if (/\.damaged\.\w+$/.test(path)) continue
    const isOld = before[path]?.equals(bytes) === true
    // Of two that would have one name, the second one gets a number.
    const expected = right[path] ?? right[path.replace(/-2(\.\w+)$/, '$1')]
    found(!isOld && !isCut(path, end) && !isSame(bytes, expected), `${path} is not whole`)
  }
  for (const path of Object.keys(right)) {
    // A record beside an image is one more, and a warning tells.
    const isRecord = path.endsWith('.png.json') && end.stderr.includes('is not kept')
    // A chat says what it could not save, and goes on.
    const isTold = call.how === 'chat' && /cannot be written|no answer to save/.test(end.stderr)
    found(end.exit === 0 && own[path] === undefined && !isRecord && !isTold, `exit 0, and ${path} is missing`)
  }
  const left = Object.keys(end.files).filter(isTemporary)
  const couldRemove = !/^(?:unlink|rm)/.test(end.failed!.name)
  found(left.length > 0 && couldRemove, `left behind: ${left.join()}`)
  found(end.leftOpen.length > 0, `left open: ${end.leftOpen.join()}`)
  return problems
}

/** Nothing is paid for twice, and nothing that was paid for is dropped. */
function problemsOfPayment(call: Call, end: CaseEnd): string[] {
  return paidExchanges(call).flatMap((exchange) => {
    const made = creationsIn(end, exchange)
    if (made > 1) return [`created ${made} times`]
    // A reply that did not come to its end is what the programme of cuts is about.
    const isDropped = made === 1 && end.failed!.port === 'file' && !isKept(call, exchange, end)
    return isDropped ? ['what was paid for is dropped'] : []
  })
}

/** The run after that ends as it should, and pays for nothing that was paid for already. */
function problemsOfNext(call: Call, golden: CaseEnd, end: CaseEnd, next: CaseEnd): string[] {
  const isPaid = paidExchanges(call).some((exchange) => creationsIn(end, exchange) > 0)
  // This process lives, and could not give up what it owned.
  if (next.exit === 2 && end.failed!.name === 'unlink' && end.failed!.path.endsWith('.owner')) return []
  // What could not be put in its place is kept elsewhere, and the user decides whether it is made again.
  if (next.exit === 7 && isPaid && end.exit !== 0) return []
  if (next.exit !== 0) return [`the next run ends with ${next.exit}: ${next.stdout}${next.stderr}`]
  const own = outputsOf(next)
  return [
    ...Object.entries(outputsOf(golden)).flatMap(([path, bytes]) =>
      isSame(bytes, own[path]) ? [] : [`the next run leaves no whole ${path}`],
    ),
    ...paidExchanges(call).flatMap((exchange) => {
      const made = creationsIn(end, exchange) + creationsIn(next, exchange)
      return made > 1 ? [`created ${made} times with the next run`] : []
    }),
  ]
}

const paidExchanges = ({ exchanges }: Call) =>
  exchanges.filter(({ role }) => role === 'text' || role === 'creation')

function creationsIn({ requests }: CaseEnd, { asks }: Exchange): number {
  return requests.filter(({ line, complete }) => complete && asks.test(line)).length
}

const isTemporary = (path: string) => /\.mgpart$|\.tmp$|\.owner(?:\.new)?$|\/\.[^/]+\.lock$/.test(path)

/** What is the user's, and not the program's own. */
function outputsOf({ files }: CaseEnd): Record<string, Buffer> {
  return Object.fromEntries(
    Object.entries(files).filter(
      ([path]) =>
        path.startsWith('project/') &&
        !/^project\/(?:\.modelgate\/|modelgate\.lock)/.test(path) &&
        !isTemporary(path),
    ),
  )
}

/** What a stream has brought until it broke is a part of a conversation, and a picture that cannot be read of no report. */
function isCut(path: string, { failed }: CaseEnd): boolean {
  if (/\/(?:talk|answer)\.\w+$/.test(path)) return failed!.port === 'network'
  return path.includes('/reports/') && failed!.path === 'project/x.png'
}

/** A second attempt takes longer. */
function isSame(one: Buffer, other: Buffer | undefined): boolean {
  const plain = (bytes: Buffer) => bytes.toString('latin1').replaceAll(/"(?:time|duration_ms)": [^\n]+/g, '')
  return other !== undefined && plain(one) === plain(other)
}

/** Whether what a reply brought is where the user finds it; of the record of calls only jobs are such a place. */
function isKept(call: Call, exchange: Exchange, { files, stdout, stderr }: CaseEnd): boolean {
  const jobsIn = (bytes: Buffer) =>
    Buffer.from((bytes.toString().match(/^.*"type":"job".*\n/gm) ?? []).join(''))
  const places = Object.entries(files).map(([path, bytes]) =>
    path.includes('/calls/') ? jobsIn(bytes) : bytes,
  )
  const all = [Buffer.from(stdout), Buffer.from(stderr), ...places]
  return contentsOf(call, exchange).some((content) => all.some((bytes) => bytes.includes(content)))
}

/** A text, a picture, an id; the address of a picture, or the picture that was there. */
function contentsOf({ exchanges }: Call, { role, reply }: Exchange): readonly (Buffer | string)[] {
  if (role === 'text') return ['Hello, wörld.']
  const text = Buffer.concat(reply.pieces).toString()
  const picture = /"b64_json":"([^"]+)"/.exec(text)?.[1]
  if (picture !== undefined) return [Buffer.from(picture, 'base64')]
  const [name = ''] = /resp_1|operations\/op-0123|video_0123456789|\/made\/picture\.png/.exec(text) ?? []
  const downloads = exchanges.filter((other) => other.role === 'download')
  return [name, ...downloads.map((other) => Buffer.concat(other.reply.pieces))]
}
