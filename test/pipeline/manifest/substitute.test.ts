import { expect, test } from 'vitest'
import { substitute, type Scope } from '../../../src/pipeline/manifest/substitute.ts'

const scope: Scope = {
  columns: { id: 'shoe', name: 'Red ${id} $&', 'in stock': 'yes', tags: [], count: 1.5, none: null },
  vars: new Map([['style', 'Flat, ${id}']]),
  usedVars: new Set(),
  variables: new Map([
    ['BRAND', 'Acme'],
    ['UNSET', undefined],
  ]),
}
const columns = 'there are id, name, in stock, tags, count, none.'

test.each([
  ['plain $ {text}', 'plain $ {text}'],
  ['${id}/${id}.webp', 'shoe/shoe.webp'],
  ['${name}', 'Red ${id} $&'],
  ['${in stock}', 'yes'],
  ['${count}', '1.5'],
  ['${env:BRAND}!', 'Acme!'],
  ['A boat. ${var:style}.', 'A boat. Flat, ${id}.'],
  ['$${id} costs $5', '${id} costs $5'],
  ['$$${id}', '$${id}'],
])('%s becomes %s', (text, value) => {
  expect(substitute(text, scope)).toEqual({ value, problems: [] })
})

test.each([
  ['a ${nmae}', '`${nmae}` is not a column of the row: did you mean `${name}`?'],
  ['${ id }', '`${ id }` is not a column of the row: did you mean `${id}`?'],
  ['${constructor}', `\`\${constructor}\` is not a column of the row: ${columns}`],
  ['${}', `\`\${}\` is not a column of the row: ${columns}`],
  ['a ${id\n}', '`${` has no `}` in its line. For a literal `${` write `$${`.'],
  ['${env:XY}', '`${env:XY}` names a variable that the manifest does not declare: add XY to `env:`.'],
  [
    '${env:BRAN}',
    '`${env:BRAN}` names a variable that the manifest does not declare: did you mean `${env:BRAND}`?',
  ],
  ['${env:UNSET}', 'The environment variable UNSET of `${env:UNSET}` is not set.'],
  ['${tags}', '`${tags}` is a list in the row, not a text.'],
  ['${none}', '`${none}` is null in the row, not a text.'],
  ['${var:stile}', '`${var:stile}` is not among the texts of `vars:`: did you mean `${var:style}`?'],
  ['${var:brand}', '`${var:brand}` is not among the texts of `vars:`: add brand to `vars:`.'],
])('tells what is wrong with %j', (text, message) => {
  expect(substitute(text, scope)).toEqual({ value: text, problems: [message] })
})
