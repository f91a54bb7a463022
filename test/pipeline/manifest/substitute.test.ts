import { expect, test } from 'vitest'
import { substitute, type Scope } from '../../../src/pipeline/manifest/substitute.ts'

const scope: Scope = {
  columns: {
    id: 'shoe',
    name: 'Red ${id} $&',
    'in stock': 'yes',
    tags: [],
    count: 1.5,
    none: null,
  },
  vars: new Map([['style', 'Flat, ${id}']]),
  usedVars: new Set(),
  variables: new Map([
    ['BRAND', 'Acme'],
    ['UNSET', undefined],
  ]),
}

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
  [
    '${whatever}',
    '`${whatever}` is not a column of the row: there are id, name, in stock, tags, count, none.',
  ],
  [
    '${constructor}',
    '`${constructor}` is not a column of the row: there are id, name, in stock, tags, count, none.',
  ],
  ['${}', '`${}` is not a column of the row: there are id, name, in stock, tags, count, none.'],
  ['a ${id\n}', '`${` has no `}` in its line. For a literal `${` write `$${`.'],
  [
    '${env:SECRET}',
    '`${env:SECRET}` names a variable that the manifest does not declare: add SECRET to `env:`.',
  ],
  [
    '${env:BRAN}',
    '`${env:BRAN}` names a variable that the manifest does not declare: did you mean `${env:BRAND}`?',
  ],
  ['${tags}', '`${tags}` is a list in the row, not a text.'],
  ['${none}', '`${none}` is null in the row, not a text.'],
  ['${var:stile}', '`${var:stile}` is not among the texts of `vars:`: did you mean `${var:style}`?'],
  ['${var:brand}', '`${var:brand}` is not among the texts of `vars:`: add brand to `vars:`.'],
  ['${env:UNSET}', 'The environment variable UNSET of `${env:UNSET}` is not set.'],
])('tells what is wrong with %j', (text, message) => {
  expect(substitute(text, scope)).toEqual({ value: text, problems: [message] })
})
