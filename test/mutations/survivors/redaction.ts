import type { Survivors } from '../survivors.ts'

const faster = 'This only saves time, or memory.'

export const redaction: readonly Survivors[] = [
  {
    file: 'src/redact/key-forms.ts',
    reason: 'Looking for a mark first only saves time.',
    changes: [
      'sk-',
      'AIza',
      'ya29.',
      'earer',
      'EARER',
      'AKIA',
      'ASIA',
      'ghp_',
      'gho_',
      'ghu_',
      'ghs_',
      'ghr_',
    ]
      .concat(['.eyJ', 'sig=', 'ignature=', 'PRIVATE KEY'])
      .map((mark) => [`'${mark}'`, '""'] as const),
  },
  {
    file: 'src/redact/spans.ts',
    reason: 'An escape that begins earlier has ended before, and before a text there is none.',
    changes: [
      ['start > at - maxEscape && start >= 0', 'start > at - maxEscape || start >= 0'],
      ['start > at - maxEscape', 'true'],
      ['start > at - maxEscape', 'start >= at - maxEscape'],
      ['start >= 0', 'true'],
      ['start > 0', 'true'],
      ['start > 0', 'start >= 0'],
    ],
  },
  {
    file: 'src/redact/spans.ts',
    reason: 'The sum of two numbers is even where their difference is.',
    changes: [['at - start', 'at + start']],
  },
  {
    file: 'src/redact/spans.ts',
    reason: 'Behind the end of a text there is nothing to find, and nothing to copy.',
    changes: [
      ['last < json.length', 'last <= json.length'],
      ['at < json.length', 'at <= json.length'],
    ],
  },
  {
    file: 'src/redact/matcher.ts',
    reason: faster,
    changes: [
      ['forms.length === 0', 'false'],
      ['!isInForms(text, first + stride - 1)', 'false'],
      ['{\n          first += stride\n          continue\n        }', '{}'],
      ['fragment === undefined', 'true'],
      ['Math.min(length, depth)', 'Math.max(length, depth)'],
      ['next.length / childCount', 'next.length * childCount'],
    ],
  },
  {
    file: 'src/redact/matcher.ts',
    reason:
      'The size of the filter, and what is in it besides, only decide how often it lets pass what is in no form.',
    changes: [
      [
        'Math.min(28, Math.max(12, 32 - Math.clz32(totalLength(forms) * 32)))',
        'Math.max(28, Math.max(12, 32 - Math.clz32(totalLength(forms) * 32)))',
      ],
      [
        'Math.max(12, 32 - Math.clz32(totalLength(forms) * 32))',
        'Math.min(12, 32 - Math.clz32(totalLength(forms) * 32))',
      ],
      ['32 - Math.clz32(totalLength(forms) * 32)', '32 + Math.clz32(totalLength(forms) * 32)'],
      ['totalLength(forms) * 32', 'totalLength(forms) / 32'],
      ['bits - 5', 'bits + 5'],
      ['at + gramLength', 'at - gramLength'],
      ['{\n  return texts.reduce((sum, { length }) => sum + length, 0)\n}', '{}'],
      ['(sum, { length }) => sum + length', '() => undefined'],
    ],
  },
  {
    file: 'src/redact/matcher.ts',
    reason: 'The slots of a table may be taken in any order.',
    changes: [
      ['size - 1', 'size + 1'],
      ['slot + 1', 'slot - 1'],
    ],
  },
  {
    file: 'src/redact/matcher.ts',
    reason: 'What is looked at once more, or behind the end, has been found, or matches nothing.',
    changes: [
      ['end <= lastEnd', 'end < lastEnd'],
      ['first + stride - 1 + gramLength', 'first + stride - 1 - gramLength'],
      ['first + stride', 'first - stride'],
      ['first + stride - 1', 'first + stride + 1'],
      ['tail > 0', 'tail >= 0'],
      ['at < end', 'at <= end'],
      [
        'Math.min(start + count + fragmentLength - 1, text.length)',
        'Math.max(start + count + fragmentLength - 1, text.length)',
      ],
      ['start + count + fragmentLength - 1', 'start + count + fragmentLength + 1'],
      ['one.length - oneStart', 'one.length + oneStart'],
      ['other.length - otherStart', 'other.length + otherStart'],
    ],
  },
  {
    file: 'src/redact/streams.ts',
    reason: 'A text that is forgotten has nothing held back: the limit only bounds memory.',
    changes: [
      ['channels.size < maxChannels'],
      ["slot.kept !== ''", 'true'],
      ["''", '"Stryker was here!"'],
      ['rest > 0', 'true'],
      ['rest > 0', 'rest >= 0'],
    ],
  },
  {
    file: 'src/redact/streams.ts',
    reason: 'No match begins two characters earlier.',
    changes: [['fragmentLength - 1', 'fragmentLength + 1']],
  },
  {
    file: 'src/output/gate.ts',
    reason: faster,
    changes: [
      ['spans.length === 0', 'false'],
      ['made?.count !== shared.size', 'true'],
    ],
  },
  {
    file: 'src/output/gate.ts',
    reason: 'Longer secrets have been removed before words are.',
    changes: [
      ['secret.length < minLength', 'true'],
      ['secret.length < minLength', 'secret.length <= minLength'],
    ],
  },
  {
    file: 'src/output/gate.ts',
    reason: 'An empty secret has no form, and is no word; another one that nobody has is in no text.',
    changes: [
      ["[env['MODELGATE_API_KEY'] ?? '', ...secrets].filter((secret) => secret !== '')"],
      ['[]', '["Stryker was here"]'],
      ["secret !== ''", 'true'],
      ["''", '"Stryker was here!"'],
    ],
  },
  {
    file: 'src/output/gate.ts',
    reason: 'A blank is no control character.',
    changes: [['code < 0x20', 'code <= 0x20']],
  },
]
