/** Licences that let the bundle be passed on under its own, as long as they are stated. */
const allowed: ReadonlySet<string> = new Set(
  '0BSD Apache-2.0 BlueOak-1.0.0 BSD-2-Clause BSD-3-Clause IJG ISC MIT'.split(' '),
)

export interface PackageManifest {
  readonly name: string
  readonly version: string
}

/**
 * What is wrong with the text of THIRD-PARTY-NOTICES: packages that it leaves out or has no text for, and licences
 * that are not allowed.
 */
export function noticeProblems(notices: string, packages: readonly PackageManifest[]): string[] {
  const [list = '', ...sections] = notices.split(/^={70,}$/m)
  const titled = new Set(
    sections.flatMap((section) => {
      const [heads, ...text] = section.trim().split('\n\n')
      return text.length > 0 ? heads!.split('\n') : []
    }),
  )
  const entries = [...list.matchAll(/^- (.+) \((.*)\)$/gm)].map(([, title, license]) => ({
    title: title!,
    license: license!,
  }))
  const listed = new Set(entries.map(({ title }) => title))
  const titles = packages.map(({ name, version }) => `${name} ${version}`)
  return [
    ...titles.filter((title) => !listed.has(title)).map((title) => `${title} is missing`),
    ...entries.filter(({ title }) => !titled.has(title)).map(({ title }) => `${title} has no licence text`),
    ...entries
      .filter(({ license }) => !isAllowed(license))
      .map(
        ({ title, license }) => `${title} is under ${license}, which is not on the list of allowed licences`,
      ),
  ]
}

/** Of alternatives one is enough, of several at once all are needed. Anything unusual is refused. */
function isAllowed(expression: string): boolean {
  const alternatives = expression.replaceAll(/^\(|\)$/g, '').split(' OR ')
  return alternatives.some((alternative) => alternative.split(' AND ').every((id) => allowed.has(id)))
}
