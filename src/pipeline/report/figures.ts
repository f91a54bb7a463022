import type { ReportAsset, ReportFile } from '../../events/asset-report.ts'
import { byteText } from '../../quantities.ts'
import { markup, nothing, type Markup } from './markup.ts'
import { fileFacts } from './report-words.ts'
import { embedded, linkTo, shownAs, textStart, thumbnail, type SheetPlace } from './sheet-files.ts'

/** In bytes, of all thumbnails of one asset: 100 assets stay under 6 MB with base64 and their texts. */
const maxAssetBytes = 40_000

/** The files of one asset as far as a page can show them. */
export class Figures {
  readonly #asset: Pick<ReportAsset, 'id' | 'alt' | 'kind'>
  readonly #place: SheetPlace
  /** By the digests of their pictures. */
  readonly #thumbnails = new Map<string, string>()

  constructor(asset: Pick<ReportAsset, 'id' | 'alt' | 'kind'>, place: SheetPlace) {
    this.#asset = asset
    this.#place = place
  }

  /** Makes them small; called once, with all that will be shown. */
  async makeThumbnails(files: readonly ReportFile[]): Promise<void> {
    // The first is also what the tile shows while it is closed.
    const room = maxAssetBytes / (1 + files.filter((file) => shownAs(file) === 'img').length)
    for (const file of files) {
      const isMade = this.#thumbnails.has(file.sha256)
      const small = isMade ? undefined : await thumbnail(this.#place, file, room)
      if (small !== undefined) this.#thumbnails.set(file.sha256, small)
    }
  }

  async tile(file: ReportFile): Promise<Markup> {
    const { id, alt, kind } = this.#asset
    const small = this.#thumbnails.get(file.sha256)
    if (small !== undefined)
      return markup`<img src="${small}" alt="${alt ?? id}" loading="lazy" decoding="async">`
    const text = kind === 'text' ? await textStart(this.#place, file) : undefined
    return text === undefined
      ? markup`${file.media_type}<br>${fileFacts(file)}`
      : markup`<span class="start" dir="auto">${text.text.slice(0, 300)}</span>`
  }

  /** A file as far as the page can show it, and the link to it. */
  async figure(file: ReportFile, label: string): Promise<Markup> {
    const link = linkTo(this.#place, file)
    // Where a result is kept says nothing to people.
    const path = file.path.replace(/^\.modelgate\/.*\//, '')
    return markup`<figure>${await this.#content(file, label, link)}<figcaption>${label === '' ? nothing : markup`<b>${label}</b> `}<span dir="auto">${
      link === undefined ? path : markup`<a href="${link}">${path}</a>`
    }</span> <span class="quiet">${fileFacts(file)}</span></figcaption></figure>`
  }

  async #content(file: ReportFile, label: string, link: string | undefined): Promise<Markup> {
    const { id, alt, kind } = this.#asset
    const element = shownAs(file)
    const name = alt ?? (label === '' ? id : `${id}, ${label}`)
    const whole = element !== undefined && this.#place.embeds ? await embedded(this.#place, file) : undefined
    const image = whole ?? this.#thumbnails.get(file.sha256)
    if (element === 'img' && image !== undefined) {
      const picture = markup`<img alt="${name}" loading="lazy" decoding="async" src="${{ html: image }}">`
      return whole === undefined ? markup`<a href="${link}">${picture}</a>` : picture
    }
    if (element === 'video' && (whole ?? link) !== undefined) {
      const source = whole === undefined ? markup`preload="none" src="${link}"` : { html: `src="${whole}"` }
      return markup`<video aria-label="${name}" controls muted loop playsinline ${source}></video>`
    }
    const text = kind === 'text' && element === undefined ? await textStart(this.#place, file) : undefined
    if (text === undefined) {
      return markup`<p class="tile">${link === undefined ? 'The file is not here' : 'Not in this page'}</p>`
    }
    const left =
      text.bytesLeft === 0 ? nothing : markup`<p class="quiet">${byteText(text.bytesLeft)} more</p>`
    return markup`<div class="text" dir="auto">${text.text}</div>${left}`
  }
}
