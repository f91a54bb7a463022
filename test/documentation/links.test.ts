import { existsSync, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { proseOf, projectRoot, readPage, userPages } from '../support/pages.ts'

const pages = [...userPages, '.github/CONTRIBUTING.md', 'CHANGELOG.md', '.github/SECURITY.md']

/** As GitHub makes them of headings. */
function anchorsOf(page: string): Set<string> {
  const found = new Map<string, number>()
  const anchors = [...proseOf(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => {
    const slug = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-')
    const count = found.get(slug) ?? 0
    found.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  })
  return new Set(anchors)
}

/** Links and pictures to files of the repository. */
function linksOf(page: string) {
  const inText = proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)
  const targets = [...inText, ...page.matchAll(/\b(?:src|srcset|href)="([^"\s]+)"/g)]
  return targets.flatMap(([, target = '']) => {
    const [path = '', anchor] = target.split('#')
    return /^[a-z]+:/.test(target) ? [] : [{ path, anchor }]
  })
}

test.each(pages)('%s links to what is there', (page) => {
  const broken = linksOf(readPage(page)).filter(({ path, anchor }) => {
    const file = new URL(path, new URL(page, projectRoot))
    if (!existsSync(file)) return true
    if (anchor === undefined || !file.pathname.endsWith('.md')) return false
    return !anchorsOf(readPage(file.pathname.slice(projectRoot.pathname.length))).has(anchor)
  })
  expect(broken).toEqual([])
})

test('what is installed by its version is this one', () => {
  const { version } = JSON.parse(readPage('package.json')) as { version: string }
  const examples = readdirSync(new URL('examples/', projectRoot), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.ya?ml$/.test(name))
    .map((name) => `examples/${name}`)
  const named = [...userPages, ...examples].flatMap((path) =>
    [...readPage(path).matchAll(/modelgate(?:@v|:|-)(\d+\.\d+\.\d+)(?![-\d])/g)].map(
      ([, found]) => `${path}: ${found}`,
    ),
  )
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter((place) => !place.endsWith(`: ${version}`))).toEqual([])
})

test('docs/README.md lists every other page of docs/', () => {
  const listed = new Set(linksOf(readPage('docs/README.md')).map(({ path }) => `docs/${path}`))
  const others = userPages.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md')
  expect(others.filter((page) => !listed.has(page))).toEqual([])
})

test('the examples that are named are there, and each is named', () => {
  const text = userPages.map(readPage).join('\n')
  const named = new Set([...text.matchAll(/examples\/([\w.-]+\w)/g)].map(([, name]) => name))
  expect([...named].toSorted()).toEqual(readdirSync(new URL('examples/', projectRoot)).toSorted())
})

test('the tests that SECURITY.md names are there', () => {
  const named = [...readPage('.github/SECURITY.md').matchAll(/`(test\/[\w./-]+)`/g)].map(([, path]) => path!)
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((path) => !existsSync(new URL(path, projectRoot)))).toEqual([])
})
