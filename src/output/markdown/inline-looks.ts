import { plainLook, type Look, type Run } from '../line-writer.ts'
import { isDisguise, linkAddress } from './hyperlinks.ts'
import { code, emphasis, html, strikethrough, strong, type Link, type Piece } from './inline-parser.ts'

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

export const faintLook: Look = { sgr: '2' }

/** Of headings, by their level. */
export const headingCodes = ['1;4;35', '1;35', '1', '1;3', '3', '3']

/** Longer addresses than this, such as whole images, are cut where they are shown. */
const maxShown = 500

/**
 * The looks of pieces, which differ only where they are seen.
 * @param base what the block itself looks like
 */
export function createInlineLooks({ colors, hyperlinks }: Abilities, base = ''): (piece: Piece) => Run[] {
  const known = new Map<string, Look>()
  const lookOf = (style: number, link: Link | undefined): Look => {
    const url = link !== undefined && hyperlinks ? linkAddress(link.url) : undefined
    const codes = styleCodes.filter(([flag]) => (style & flag) !== 0).map(([, sgr]) => sgr)
    const all = [...(base === '' ? [] : [base]), ...codes, ...(link === undefined ? [] : [linkCode])]
    const sgr = colors ? all.join(';') : ''
    if (sgr === '' && url === undefined) return plainLook
    const key = `${sgr} ${url}`
    if (!known.has(key)) known.set(key, { sgr, url })
    return known.get(key)!
  }
  /** The address, where the terminal does not lead to it, or would lead elsewhere than the text says. */
  const addressOf = ({ kind, url, text, hasImage }: Link): Run[] => {
    const isShown = [url, url.replace(/^(?:mailto:|https?:\/\/)/, '')].includes(text.trim())
    const isHidden = hyperlinks && linkAddress(url) !== undefined && !isDisguise(text, url) && !hasImage
    if (url === '' || kind === 'autolink' || isShown || isHidden) return []
    const short = url.length > maxShown ? `${url.slice(0, 60)}…` : url
    return [{ text: ` (${short})`, look: colors ? faintLook : plainLook }]
  }
  return ({ text, style, link, mark }) => {
    const isSeen = text !== '' && !(mark === 'style' && colors)
    const own = isSeen ? [{ text, look: lookOf(style, link) }] : []
    return mark === 'closing' && link !== undefined ? [...own, ...addressOf(link)] : own
  }
}
