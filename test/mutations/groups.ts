/** Source files whose every small change Stryker tries, and the tests that have to notice it. */
export interface Unit {
  readonly files: readonly string[]
  readonly tests: readonly string[]
}

/** What breaks when one of its files is wrong; each group has to reach the score by itself. */
export interface Group {
  readonly name: string
  readonly units: readonly Unit[]
}

/** Each unit has few test files: a change in what a module does when it is loaded runs all of them. */
export const groups: readonly Group[] = [
  {
    name: 'retry',
    units: [
      {
        files: ['src/gateway/retry.ts'],
        tests: [
          'test/gateway/retry.test.ts',
          'test/gateway/send-request.test.ts',
          'test/gateway/request-whole.test.ts',
        ],
      },
      {
        files: ['src/gateway/send-request.ts'],
        tests: [
          'test/gateway/send-request.test.ts',
          'test/gateway/request-whole.test.ts',
          'test/gateway/trace.test.ts',
          'test/gateway/idempotency-key.test.ts',
          'test/gateway/wire-request.test.ts',
        ],
      },
    ],
  },
  {
    name: 'failures',
    units: [
      { files: ['src/gateway/exchange-error.ts'], tests: ['test/gateway/exchange-error.test.ts'] },
      {
        files: ['src/gateway/status-error.ts'],
        tests: ['test/gateway/status-error.test.ts', 'test/gateway/wait-hint.test.ts'],
      },
      {
        files: ['src/gateway/content-refusal.ts'],
        tests: ['test/gateway/content-refusal.test.ts'],
      },
      {
        files: ['src/gateway/reply-errors.ts'],
        tests: ['test/gateway/reply-errors.test.ts', 'test/gateway/status-error.test.ts'],
      },
    ],
  },
  {
    name: 'redaction',
    units: [
      {
        files: ['src/redact/forms.ts', 'src/redact/key-forms.ts', 'src/redact/spans.ts'],
        tests: ['test/redact/forms.test.ts', 'test/redact/key-forms.test.ts', 'test/redact/spans.test.ts'],
      },
      {
        files: ['src/redact/matcher.ts'],
        tests: ['test/redact/matcher.test.ts'],
      },
      { files: ['src/redact/streams.ts'], tests: ['test/redact/streams.test.ts'] },
      {
        files: ['src/output/gate.ts'],
        tests: [
          'test/output/gate.test.ts',
          'test/output/gate-streams.test.ts',
          'test/output/sanitise.test.ts',
          'test/output/redact.test.ts',
        ],
      },
    ],
  },
  {
    name: 'atomic-files',
    units: [
      {
        files: ['src/files/atomic-file.ts', 'src/files/open-atomic-file.ts', 'src/files/write-target.ts'],
        tests: [
          'test/files/atomic-file-faults.test.ts',
          'test/files/atomic-file.test.ts',
          'test/files/direct-file.test.ts',
          'test/files/folder.test.ts',
          'test/files/rescue-file.test.ts',
          'test/files/sync-file.test.ts',
        ],
      },
      { files: ['src/files/save-new-file.ts'], tests: ['test/files/save-new-file.test.ts'] },
      {
        files: ['src/files/lock-file.ts'],
        tests: ['test/files/lock-file.test.ts', 'test/platform/held-files.test.ts'],
      },
    ],
  },
  {
    name: 'standard-input',
    units: [
      {
        files: ['src/commands/shared/input/standard-input.ts'],
        tests: ['test/commands/shared/input/standard-input.test.ts'],
      },
      {
        files: ['src/commands/shared/input/questions.ts'],
        tests: ['test/commands/shared/input/questions.test.ts', 'test/commands/shared/ask.test.ts'],
      },
    ],
  },
  {
    name: 'exit-codes',
    units: [
      { files: ['src/errors.ts'], tests: ['test/errors.test.ts'] },
      { files: ['src/pipeline/run-exit.ts'], tests: ['test/pipeline/run-exit.test.ts'] },
    ],
  },
  {
    name: 'contract',
    units: [
      {
        files: ['src/contract/field.ts'],
        tests: [
          'test/contract/field.test.ts',
          'test/contract/check.test.ts',
          'test/contract/rules.test.ts',
          'test/contract/families.test.ts',
        ],
      },
      {
        files: ['src/contract/size-rule.ts', 'src/contract/families.ts'],
        tests: ['test/contract/families.test.ts'],
      },
    ],
  },
  {
    name: 'journal',
    units: [
      {
        files: ['src/pipeline/journal/journal-line.ts'],
        tests: ['test/pipeline/journal/journal-line.test.ts'],
      },
      { files: ['src/pipeline/journal/history.ts'], tests: ['test/pipeline/journal/history.test.ts'] },
      { files: ['src/pipeline/journal/journal.ts'], tests: ['test/pipeline/journal/journal.test.ts'] },
      {
        files: ['src/pipeline/journal/owner-record.ts', 'src/pipeline/journal/owner.ts'],
        tests: ['test/pipeline/journal/owner.ci.test.ts', 'test/pipeline/journal/owner-record.test.ts'],
      },
    ],
  },
  {
    name: 'lock',
    units: [
      {
        files: ['src/pipeline/lock/block-shape.ts', 'src/pipeline/lock/lock-text.ts'],
        tests: ['test/pipeline/lock/lock-text.test.ts'],
      },
      {
        files: ['src/pipeline/lock/lock-block.ts'],
        tests: ['test/pipeline/lock/lock-block.test.ts', 'test/pipeline/lock/lock-text.test.ts'],
      },
      { files: ['src/pipeline/lock/merge-lock.ts'], tests: ['test/pipeline/lock/merge-lock.ci.test.ts'] },
      {
        files: ['src/pipeline/lock/canonical-form.ts'],
        tests: ['test/pipeline/lock/canonical-form.test.ts'],
      },
      { files: ['src/pipeline/lock/project-lock.ts'], tests: ['test/pipeline/lock/project-lock.test.ts'] },
    ],
  },
  {
    name: 'keys',
    units: [
      {
        files: ['src/config/key.ts'],
        tests: [
          'test/config/key.test.ts',
          'test/config/key-command.test.ts',
          'test/config/key-problems.test.ts',
        ],
      },
      { files: ['src/config/credentials.ts'], tests: ['test/config/credentials.test.ts'] },
      {
        files: ['src/config/trust.ts'],
        tests: ['test/config/project-file.test.ts', 'test/config/output-folder.test.ts'],
      },
      { files: ['src/pipeline/plan/instance-key.ts'], tests: ['test/pipeline/plan/instance-key.test.ts'] },
    ],
  },
  {
    name: 'budget',
    units: [
      {
        files: ['src/operations/spending.ts'],
        tests: ['test/operations/spending.test.ts'],
      },
      {
        files: ['src/operations/spending-limits.ts'],
        tests: ['test/operations/spending-limits.test.ts'],
      },
      { files: ['src/files/ledger.ts'], tests: ['test/files/ledger.test.ts'] },
      {
        files: ['src/cost/amount.ts', 'src/cost/estimate.ts', 'src/cost/prices.ts'],
        tests: ['test/cost/amount.test.ts', 'test/cost/estimate.test.ts'],
      },
    ],
  },
]
