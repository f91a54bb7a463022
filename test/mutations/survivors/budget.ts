import type { Survivors } from '../survivors.ts'

export const budget: readonly Survivors[] = [
  {
    file: 'src/operations/spending.ts',
    reason: 'No creation has a job that is null.',
    changes: [['job !== null', 'true']],
  },
  {
    file: 'src/operations/spending.ts',
    reason: 'It only saves loading: without prices nothing has one.',
    changes: [['isPriced', 'true']],
  },
  {
    file: 'src/operations/spending-limits.ts',
    reason: 'No number is more than undefined.',
    changes: [['all !== undefined', 'true']],
  },
  {
    file: 'src/operations/spending-limits.ts',
    reason: 'What is no amount adds nothing, either.',
    changes: [["'0'"]],
  },
  {
    file: 'src/files/ledger.ts',
    reason: 'Nothing needs it, and to survive a power failure does no harm.',
    changes: [['false', 'true']],
  },
  {
    file: 'src/files/ledger.ts',
    reason: 'A function that returns nothing returns undefined.',
    changes: [
      ['{\n        return undefined\n      }', '{}'],
      ['{\n    return undefined\n  }', '{}'],
    ],
  },
  {
    file: 'src/files/ledger.ts',
    reason: 'It only saves time: whoever reads from the beginning is told the same.',
    changes: [
      ['reader?.since !== since', 'true'],
      ['id !== undefined && !entries.has(id)', 'true'],
      ['id !== undefined && !entries.has(id)', 'id !== undefined || !entries.has(id)'],
      ['id !== undefined', 'true'],
    ],
  },
  {
    file: 'src/files/ledger.ts',
    reason: 'What is not there is no JSON, and nothing is known of it.',
    changes: [
      ['line === undefined', 'false'],
      ['start === -1', 'false'],
      ['id === undefined', 'false'],
    ],
  },
  {
    file: 'src/files/ledger.ts',
    reason: 'What is empty behind the last line ends the reading in any case.',
    changes: [['at < text.length', 'at <= text.length']],
  },
  {
    file: 'src/files/ledger.ts',
    reason: 'Only more memory is asked for: what was read is what counts.',
    changes: [['fstatSync(descriptor).size - offset', 'fstatSync(descriptor).size + offset']],
  },
  {
    file: 'src/files/ledger.ts',
    reason: 'What cannot be closed is left as it is.',
    changes: [['descriptor !== undefined', 'true']],
  },
  {
    file: 'src/files/ledger.ts',
    reason: 'Nobody asks for the id of what was torn.',
    changes: [["''", '"Stryker was here!"']],
  },
  {
    file: 'src/cost/amount.ts',
    reason: 'Where the expression matches, its first group does; an exponent of nothing is 0, too.',
    changes: [["''"], ["'0'"]],
  },
  {
    file: 'src/cost/amount.ts',
    reason: 'At the boundary both ways lead to the same.',
    changes: [
      ['shift >= 0', 'shift > 0'],
      ['amount >= unit', 'amount > unit'],
    ],
  },
  {
    file: 'src/cost/estimate.ts',
    reason: 'What is not said counts as none.',
    changes: [['{ cached_tokens: 0 }', '{}']],
  },
  {
    file: 'src/cost/prices.ts',
    reason: 'No model is called so.',
    changes: [
      ['[]', '["Stryker was here"]'],
      ['id === undefined', 'false'],
    ],
  },
]
