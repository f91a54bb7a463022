import { expect, test } from 'vitest'
import { calls, isReport, type Call } from './calls.ts'
import { canMakeCertificates } from '../support/certificate.ts'
import { sample } from '../support/sample.ts'
import { performCall, type CallEnd, type Trouble } from './perform-call.ts'
import { casesOf, exitOf, onePerRole, type FaultCase } from './row.ts'
import { faultRows } from './rows.ts'

const single = triedHere(calls.filter((call) => !isReport(call)))
/** Each row once. */
const cases = sample(single, 1, nameOf, ({ row }) => row)
/** Of those that see the same in another way. */
const some = 0.03

const perform = ({ variant, call, exchange }: FaultCase, more: readonly string[] = []) => {
  const trouble: Trouble = {
    call,
    exchange,
    replies: variant.replies?.(exchange, call) ?? [],
    ...variant.trouble?.(exchange, call),
  }
  return performCall({ ...trouble, more: [...(trouble.more ?? []), ...more] })
}

test.each(cases.map((one) => [nameOf(one), one] as const))('%s', async (_, one) => {
  const { call, expected } = one
  const end = await perform(one)
  expect({ exit: end.exit, stderr: end.exit === exitOf(expected.exit, call) ? '' : end.stderr }).toEqual({
    exit: exitOf(expected.exit, call),
    stderr: '',
  })
  expect({ stdout: end.stdout, files: end.files }).toEqual(leftBy(one, end))
  const { attempts = 1, attemptsOfRun = attempts } = expected
  const wanted = call.argv[0] === 'run' ? attemptsOfRun : attempts
  expect(wanted === 'any' ? wanted : end.attempts, 'requests').toBe(wanted)
  expect(end.waits).toEqual(expect.arrayContaining([...(expected.waits ?? [])]))
  const told = end.stderr.split('\n').filter((line) => line.startsWith('modelgate: '))
  expect(isSingle(call) ? told.length : 'any').toBe(isSingle(call) ? Number(expected.exit !== 0) : 'any')
  expect(end.stderr.replaceAll(/\s+/g, ' ')).toMatch(expected.says ?? /^/)
})

/** `doctor` asks once, and so tells of what another attempt would not meet. */
const reported = sample(
  triedHere(calls.filter(isReport)).filter(
    ({ call, expected }) => call.argv[0] !== 'doctor' || expected.exit !== 0 || expected.attempts !== 2,
  ),
  some,
  nameOf,
)

test.each(reported.map((one) => [nameOf(one), one] as const))('%s', async (_, one) => {
  const { exit, files } = await perform(one)
  // What is wrong with a gateway may be all that a report is to find out.
  expect([0, one.expected.exit]).toContain(exit)
  expect(files).toEqual({})
})

const failing = single.filter(({ call, expected }) => isSingle(call) && expected.exit !== 0)
const variants = [...new Set(failing.map(({ variant }) => variant))]
/** The error object is made of the same error as the message, in one place: it is enough to see it once. */
const seenAsJson = sample(
  variants.flatMap((one) => onePerRole(failing.filter(({ variant }) => variant === one))),
  some,
  nameOf,
)

test.each(seenAsJson.map((one) => [nameOf(one), one] as const))('%s, as JSON', async (_, one) => {
  const { exit, stdout, error } = await perform(one, ['--json'])
  expect([exit, stdout]).toEqual([one.expected.exit, ''])
  expect(error).toMatchObject({
    exit_code: one.expected.exit,
    message: expect.stringMatching(one.expected.says ?? /^/),
    ...one.expected.error,
  })
})

/** All cases but those that this machine cannot produce. */
function triedHere(told: readonly Call[]): readonly FaultCase[] {
  const all = casesOf(faultRows, told)
  return all.filter(({ variant: { needsOpenssl = false } }) => canMakeCertificates || !needsOpenssl)
}

function nameOf({ row, variant, call, exchange }: FaultCase): string {
  return `${row.id}, ${variant.name}: ${call.name}, ${exchange.role}`
}

/** Its failure is the call's own, with one message. */
function isSingle(call: Call): boolean {
  return call.how === 'program' && call.argv[0] !== 'run' && !isReport(call)
}

function leftBy({ call, expected }: FaultCase, end: CallEnd): Call['leaves'] {
  const { exit, leaves = exit === 0 ? 'all' : 'nothing' } = expected
  if (leaves === 'all') return call.leaves
  if (leaves === 'files') return { stdout: '', files: call.leaves.files }
  if (leaves === 'damaged') {
    const begun = Object.entries(call.leaves.files).map(([name, bytes]) => {
      const damaged = name.replace('.', '.damaged.')
      return [damaged, Buffer.from(bytes).subarray(0, end.files[damaged]?.length)]
    })
    return { stdout: '', files: Object.fromEntries(begun) }
  }
  if (typeof leaves === 'string') return { stdout: leaves === 'begun' ? (call.begun ?? '') : '', files: {} }
  const { stdout, files } = call.leaves
  const names = Object.keys(files)
  return {
    stdout: names.length > 0 ? stdout : `${leaves.text}\n`,
    files: Object.fromEntries(names.map((name) => [name, Buffer.from(leaves.text)])),
  }
}
