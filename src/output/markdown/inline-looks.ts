import { isDisguise, linkAddress } from './hyperlinks.ts'
import { code, emphasis, html, strikethrough, strong, type Link, type Piece } from './inline-pieces.ts'
import { plainLook, type Look } from './line-writer.ts'
import type { CellRun } from './table-layout.ts'

export interface Abilities {
  /** Colours, and with them bold, italic and the like. Without them, marks are shown as they were written. */
  readonly colors: boolean
  /** Links (OSC 8). Without them, their addresses are shown in parentheses. */
  readonly hyperlinks: boolean
}

const styleCodes: readonly (readonly [style: number, sgr: string])[] = [
  [strong, '1'],
  [emphasis, '3'],
  [strikethrough, '9'],
  [code, '36'],
  [html, '2'],
]
const linkCode = '4'
export const dim = '2'

/** Of headings, by their level. */
const headingCodes = ['1;4;35', '1;35', '1', '1;3', '3', '3']

export interface InlineLooks {
  /** Text and looks; several pieces of a link must come together. */
  runs(pieces: readonly Piece[]): CellRun[]
}

/** Longer addresses than this, such as whole images, are cut where they are shown. */
const maxShown = 500

/** @param base what the block itself looks like */
export function createInlineLooks({ colors, hyperlinks }: Abilities, base = ''): InlineLooks {
  const looks = new Map<number, Look>()
  let linkText = ''
  let linkLook: { readonly link: Link; readonly address: string | undefined } | undefined

  const lookOf = (style: number, isLink: boolean): Look => {
    if (!colors || (style === 0 && base === '' && !isLink)) return plainLook
    const key = style * 2 + Number(isLink)
    const known = looks.get(key)
    if (known !== undefined) return known
    const codes = styleCodes.filter(([flag]) => (style & flag) !== 0).map(([, sgr]) => sgr)
    const all = [...(base === '' ? [] : [base]), ...codes, ...(isLink ? [linkCode] : [])]
    const look = { sgr: all.join(';') }
    looks.set(key, look)
    return look
  }
  const shownLook = (): Look => (colors ? { sgr: dim } : plainLook)

  const runsOf = ({ text, style, link, mark }: Piece): CellRun[] => {
    if (mark === 'opening') {
      linkText = ''
      const address = hyperlinks ? linkAddress(link!.url) : undefined
      linkLook = { link: link!, address }
      return link!.kind === 'image' ? [styled('[image', style, link)] : []
    }
    if (mark === 'closing') {
      const closing = link!.kind === 'image' ? [styled(']', style, link)] : []
      return [...closing, ...addressOf(link!)]
    }
    if (mark === 'style' && colors) return []
    const isAlt = link?.kind === 'image' && linkText === ''
    if (link !== undefined) linkText += text
    return [styled(isAlt ? `: ${text}` : text, style, link)]
  }
  const styled = (text: string, style: number, link: Link | undefined): CellRun => {
    const look = lookOf(style, link !== undefined)
    const address = link !== undefined && linkLook?.link === link ? linkLook.address : undefined
    return { text, look: address === undefined ? look : { ...look, url: address } }
  }
  const addressOf = (link: Link): CellRun[] => {
    const { kind, url } = link
    // A picture in it leads to the picture.
    const isOuter = linkLook?.link !== link
    const isShown = [url, url.replace(/^(?:mailto:|https?:\/\/)/, '')].includes(linkText.trim())
    const isHidden = linkLook?.address !== undefined && !isDisguise(linkText, url) && !isOuter
    if (url === '' || kind === 'autolink' || isShown || isHidden) return []
    const short = url.length > maxShown ? `${url.slice(0, 60)}…` : url
    return [{ text: ` (${short})`, look: shownLook() }]
  }
  return { runs: (pieces) => pieces.flatMap(runsOf) }
}

/** How a heading looks, and the mark before it where that cannot be seen. */
export function headingLook(
  level: number,
  { colors }: Abilities,
): { readonly base: string; readonly mark: string } {
  return colors ? { base: headingCodes[level - 1]!, mark: '' } : { base: '', mark: `${'#'.repeat(level)} ` }
}
