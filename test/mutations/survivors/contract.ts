import type { Survivors } from '../survivors.ts'

export const contract: readonly Survivors[] = [
  {
    file: 'src/contract/field.ts',
    reason: 'No family has limits for an endpoint without a name.',
    changes: [['endpoint.name === undefined', 'false']],
  },
  {
    file: 'src/contract/field.ts',
    reason: 'Only limits of a family add the model to their messages, and there are none here.',
    changes: [["''", '"Stryker was here!"']],
  },
  {
    file: 'src/contract/field.ts',
    reason: 'A rule without a field is never broken.',
    changes: [['[]', '["Stryker was here"]']],
  },
  {
    file: 'src/contract/field.ts',
    reason: 'Only exclusive rules can be advice.',
    changes: [["rule.kind === 'exclusive'", 'true']],
  },
  {
    file: 'src/contract/field.ts',
    reason: 'A schema that is not kept is made again.',
    changes: [
      ['schemas.set(field, schema)'],
      ['narrowedSchemas.set(field, byLimits)'],
      ['known?.forModel === forModel', 'false'],
      ['{ forModel, schema }', '{}'],
    ],
  },
  {
    file: 'src/contract/field.ts',
    reason: 'No field has the type "null" or "".',
    changes: [["'null'", '""']],
  },
  {
    file: 'src/contract/field.ts',
    reason: 'Nothing is as false as false.',
    changes: [['() => false', '() => undefined']],
  },
  {
    file: 'src/contract/field.ts',
    reason: 'A text as long as the most that is allowed is long enough, whichever way it is counted.',
    changes: [
      ['value.length <= maxLength', 'value.length < maxLength'],
      ['length < minLength', 'length <= minLength'],
    ],
  },
  {
    file: 'src/contract/size-rule.ts',
    reason: 'The two numbers are found together or not at all, and nothing else is in their places.',
    changes: [
      ['[]', '["Stryker was here"]'],
      ['width === undefined || height === undefined', 'width === undefined && height === undefined'],
      ['width === undefined', 'false'],
      ['height === undefined', 'false'],
    ],
  },
]
