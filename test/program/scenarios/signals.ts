import { Interrupted } from '../../../src/errors.ts'
import { readAll, sse, stall, text } from '../../support/server-replies.ts'
import type { Scenario } from '../scenario.ts'

const inStream = (reason: 'hangup' | 'interrupt' | 'terminate', exit: number, says: RegExp): Scenario => ({
  name: `${reason} in the middle of the stream`,
  replies: ({ delta }) => [sse([delta('Hello, ')], { ending: 'stall' })],
  async meanwhile({ context, clock, until }, _, asJson) {
    await until(() => clock.asked.includes(300_000) && (asJson || context.stdout.text !== ''))
    context.abort(new Interrupted(reason))
  },
  exit,
  stdout: 'Hello, \n',
  says,
  adds: 'The request may have been billed.',
  error: { code: 'interrupted', phase: 'stream', billed: 'maybe' },
})

/** Exit codes 129, 130 and 143: what has arrived is kept, and nothing is waited for. */
export const signals: readonly Scenario[] = [
  inStream('hangup', 129, /Hung up\./),
  inStream('interrupt', 130, /Stopped\./),
  inStream('terminate', 143, /Terminated\./),
  {
    name: 'interrupt before the headers',
    replies: () => [[readAll, stall]],
    async meanwhile({ context, until }, { requests }) {
      await until(() => requests[0]?.complete === true)
      context.abort(new Interrupted('interrupt'))
    },
    exit: 130,
    says: /Stopped\./,
    adds: 'The request may have been billed.',
    error: { code: 'interrupted', phase: 'wait', billed: 'maybe' },
  },
  {
    name: 'interrupt while waiting to ask again',
    replies: () => [text('Busy.', { status: 429, headers: { 'retry-after': '90' } })],
    async meanwhile({ context, clock, until }) {
      await until(() => clock.asked.includes(90_000))
      context.abort(new Interrupted('interrupt'))
    },
    waits: [90_000],
    exit: 130,
    says: /Stopped\./,
    error: { code: 'interrupted', billed: 'no' },
  },
  {
    name: 'interrupt while waiting to ask again after a failure',
    replies: () => [text('Broken.', { status: 500, headers: { 'retry-after': '90' } })],
    async meanwhile({ context, clock, until }) {
      await until(() => clock.asked.includes(90_000))
      context.abort(new Interrupted('interrupt'))
    },
    waits: [90_000],
    exit: 130,
    says: /Stopped\./,
    adds: 'The request may have been billed.',
    error: { code: 'interrupted', phase: 'reply', billed: 'maybe' },
  },
]
