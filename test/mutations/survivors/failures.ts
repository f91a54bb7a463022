import type { Survivors } from '../survivors.ts'

const noText = 'A regular expression finds nothing in "undefined", either.'

export const failures: readonly Survivors[] = [
  {
    file: 'src/gateway/status-error.ts',
    reason: 'What is not known below 500 is rejected, too; the line says that this one is no accident.',
    changes: [['status === 402', 'false']],
  },
  {
    file: 'src/gateway/status-error.ts',
    reason: 'HTTP 400 is never unexpected.',
    changes: [['status >= 400', 'status > 400']],
  },
  {
    file: 'src/gateway/status-error.ts',
    reason: 'It is never called for 2xx.',
    changes: [
      ['status < 200', 'status <= 200'],
      ['status >= 300', 'true'],
    ],
  },
  {
    file: 'src/gateway/exchange-error.ts',
    reason: 'A name is for who debugs the program.',
    changes: [["'DeadlinePassed'"], ["'ExchangeError'"]],
  },
  {
    file: 'src/gateway/exchange-error.ts',
    reason: 'No code and no message that is looked for reads so.',
    changes: [["''", '"Stryker was here!"']],
  },
  {
    file: 'src/gateway/exchange-error.ts',
    reason: 'Node gives ports as numbers.',
    changes: [["typeof port === 'number'", 'true']],
  },
  { file: 'src/gateway/status-error.ts', reason: noText, changes: [['text !== undefined', 'true'], ["''"]] },
  { file: 'src/gateway/content-refusal.ts', reason: noText, changes: [["''"]] },
  {
    file: 'src/gateway/reply-errors.ts',
    reason: noText,
    changes: [
      ['delay === undefined', 'false'],
      ['message === undefined', 'false'],
    ],
  },
  {
    file: 'src/gateway/reply-errors.ts',
    reason: 'A detail that is no object has neither a reason nor a delay.',
    changes: [['[]']],
  },
  {
    file: 'src/gateway/reply-errors.ts',
    reason: 'Whatever is no letter or digit has become a single underscore before.',
    changes: [['/^_+|_+$/g']],
  },
  {
    file: 'src/gateway/reply-errors.ts',
    reason: 'Where the expression matches, its group does.',
    changes: [['/<title[^>]*>([^<]*)/i.exec(html)?.[1]?.replaceAll']],
  },
]
