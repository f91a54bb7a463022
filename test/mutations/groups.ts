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

/** Of the sources and tests with these names. */
const unit = (sources: readonly string[], tests: readonly string[]): Unit => ({
  files: sources.map((name) => `src/${name}.ts`),
  tests: tests.map((name) => `test/${name}.test.ts`),
})

/** Each unit has few test files: a change in what a module does when it is loaded runs all of them. */
export const groups: readonly Group[] = [
  {
    name: 'retry',
    units: [
      unit(
        ['gateway/retry'],
        [
          'gateway/retry',
          'gateway/send-request',
          'gateway/request-whole',
          'gateway/wait-hint',
          'gateway/videos/wait-for-job',
        ],
      ),
      unit(
        ['gateway/send-request'],
        [
          'gateway/send-request',
          'gateway/request-whole',
          'gateway/progress-budget',
          'gateway/phases',
          'gateway/trace',
          'gateway/idempotency-key',
          'gateway/wire-request',
        ],
      ),
    ],
  },
  {
    name: 'failures',
    units: [
      unit(['gateway/exchange-error'], ['gateway/exchange-error']),
      unit(
        ['gateway/gateway-errors'],
        [
          'gateway/status-error',
          'gateway/content-refusal',
          'gateway/reply-errors',
          'gateway/wait-hint',
          'gateway/phases',
          'gateway/wire-request',
          'gateway/time-limits',
        ],
      ),
      unit(
        ['gateway/reply-errors'],
        [
          'gateway/reply-errors',
          'gateway/status-error',
          'gateway/hostile-messages',
          'gateway/progress-budget',
          'gateway/kept-reply',
          'gateway/stream-text',
        ],
      ),
    ],
  },
  {
    name: 'redaction',
    units: [
      unit(['redact/key-forms', 'redact/spans'], ['redact/key-forms', 'redact/spans']),
      unit(['redact/matcher'], ['redact/matcher', 'redact/forms']),
      unit(['redact/streams'], ['redact/streams']),
      unit(['output/gate'], ['output/gate', 'output/sanitise']),
    ],
  },
  {
    name: 'atomic-files',
    units: [
      unit(
        ['files/atomic-file', 'files/write-target'],
        ['files/atomic-file-faults', 'files/atomic-file', 'files/rescue-file'],
      ),
      unit(['files/lock-file'], ['files/lock-file', 'platform/held-files']),
    ],
  },
  {
    name: 'standard-input',
    units: [
      unit(['commands/shared/input/standard-input'], ['commands/shared/input/standard-input']),
      unit(
        ['commands/shared/request/text-prompt'],
        ['commands/shared/input/standard-input', 'commands/bad-input', 'commands/image', 'commands/text'],
      ),
      unit(['commands/shared/input/questions'], ['commands/shared/input/questions', 'commands/init/init']),
    ],
  },
  {
    name: 'exit-codes',
    units: [unit(['errors'], ['errors']), unit(['pipeline/run-exit'], ['pipeline/run-exit'])],
  },
  {
    name: 'contract',
    units: [
      unit(['contract/field'], ['contract/field', 'contract/check', 'contract/families']),
      unit(['contract/size-rule', 'contract/families'], ['contract/families']),
    ],
  },
  {
    name: 'journal',
    units: [
      unit(
        ['pipeline/journal/journal'],
        [
          'pipeline/journal/journal',
          'pipeline/journal/history',
          'pipeline/schedule/run-budget',
          'pipeline/changes/merge',
        ],
      ),
      unit(['pipeline/journal/owner'], ['pipeline/journal/owner.ci']),
    ],
  },
  {
    name: 'lock',
    units: [
      unit(['pipeline/lock/lock-block'], ['pipeline/lock/project-lock']),
      unit(['pipeline/lock/merge-lock'], ['pipeline/lock/merge-lock.ci']),
      unit(['pipeline/lock/canonical-form'], ['pipeline/lock/canonical-form']),
    ],
  },
  {
    name: 'keys',
    units: [
      unit(['config/key'], ['config/key', 'config/key-command']),
      unit(['config/credentials'], ['config/credentials']),
      unit(['config/trust'], ['config/project-file', 'config/output-folder']),
      unit(['pipeline/plan/instance-key'], ['pipeline/plan/instance-key']),
    ],
  },
  {
    name: 'budget',
    units: [
      unit(
        ['operations/spending', 'operations/spending-limits'],
        ['operations/spending', 'program/spending', 'program/paid-once'],
      ),
      unit(
        ['files/calls/call-book', 'files/calls/read-calls'],
        [
          'files/calls/call-book',
          'files/calls/job-store',
          'operations/spending',
          'program/spending',
          'program/log/log-command',
          'commands/usage',
        ],
      ),
      unit(['cost/amount', 'cost/estimate', 'cost/prices'], ['cost/amount', 'cost/estimate']),
    ],
  },
]
