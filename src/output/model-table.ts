import { sizeText } from '../contract/size-rule.ts'
import type { FieldLimit, ModelEntry } from '../events/model.ts'
import { reportText, tabbedText, tableText, type Column, type Columns } from './table-cells.ts'

const columnsOfModels: readonly Column<ModelEntry>[] = [
  ['ID', ({ id }) => id],
  ['KIND', ({ kind }) => kind ?? '', { dropOrder: 3 }],
  ['FAMILY', ({ family }) => family ?? '', { dropOrder: 4 }],
  ['RETIRES', ({ retires, retired }) => `${retires ?? ''}${retired ? ' past' : ''}`, { dropOrder: 5 }],
  ['FROM', ({ source }) => source ?? '', { dropOrder: 2 }],
  ['LIMITS', briefLimits, { dropOrder: 1, least: 20 }],
]

/** Empty if there are none. Safe for a terminal. */
export function modelTable(models: readonly ModelEntry[], columns: Columns): string {
  if (columns !== undefined) return tableText(models, columnsOfModels, { columns })
  return tabbedText(models, (model) => {
    const { id, kind, family, retires, source } = model
    return [id, kind, family, retires, source, briefLimits(model)]
  })
}

/** The limits of the first command, those that differ most between models first. */
function briefLimits({ family, endpoints }: ModelEntry): string {
  if (family === null) return ''
  const [first] = endpoints
  const order = ['size', 'quality', 'n', 'prompt']
  const limits = order.flatMap((name) => first?.limits.find(({ field }) => field === name) ?? [])
  return limits.map((limit) => `${limit.field}: ${limitText(limit)}`).join('; ')
}

function limitText({ taken, values, size, min, max, max_length }: FieldLimit): string {
  if (!taken) return 'not taken'
  if (size !== null) return sizeText(size, values ?? [])
  if (values !== null) return values.join(', ')
  if (max_length !== null) return `at most ${max_length} characters`
  if (min === max) return `only ${min}`
  return max === null ? `from ${min}` : `${min ?? 'up'} to ${max}`
}

export function modelReport(model: ModelEntry, columns: Columns): string {
  const { id, kind, source, nearest, endpoints } = model
  const rows: (readonly [name: string, value: string | null])[] = [
    ['id', id],
    ['kind', kind],
    ['family', familyText(model)],
    ['known from', source],
    ['retires', retirementText(model)],
    ['nearest', nearest],
    ...endpoints.flatMap(({ command, limits }) => [
      ...(limits.length === 0 ? [[command, 'no limits'] as const] : []),
      ...(command === 'image edit' ? [[`${command}: image`, sourcesText(model)] as const] : []),
      ...limits.map((limit) => [`${command}: ${limit.field}`, limitText(limit)] as const),
    ]),
  ]
  return reportText(rows, columns)
}

function familyText({ family, about }: ModelEntry): string {
  if (family === null) return 'none: only the rules for every model are checked'
  return about === null || about === '' ? family : `${family}: ${about}`
}

function retirementText({ retires, retired }: ModelEntry): string | null {
  return retired ? `${retires} (past; your gateway may still serve it)` : retires
}

function sourcesText({ sources }: ModelEntry): string {
  if (sources === null) return 'any pictures'
  const { max_count: count, below_bytes: below, media_types: types, square } = sources
  const number = count === null ? 'any number of' : count === 1 ? 'one' : `at most ${count}`
  const files = `${number}${square ? ' square' : ''} ${count === 1 ? 'file' : 'files'} of ${types.join(', ')}`
  return below === null ? files : `${files}, ${count === 1 ? '' : 'each '}under ${below / 1_000_000} MB`
}
