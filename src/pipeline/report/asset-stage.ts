import type { ReportAsset, ReportCandidate, ReportFile } from '../../events/asset-report.ts'
import { nextCommand } from '../../files/next-command.ts'
import { byteText } from '../../quantities.ts'
import { markup, nothing, type Markup } from './markup.ts'
import { costText, fileFacts, tookText } from './report-words.ts'
import { shownAs, type SheetMedia } from './sheet-media.ts'
import { readableText } from './shown-text.ts'

/** What there is to see of an asset: candidates side by side, the output, and what was there before. */
export async function assetStage(
  media: SheetMedia,
  asset: ReportAsset,
  currency: string | null,
): Promise<Markup> {
  const { files, candidates, kind } = asset
  const output = files.length === 0 ? nothing : await outputView(media, asset)
  if (candidates.length === 0) return files.length === 0 ? emptyStage(asset) : output
  const items: Markup[] = []
  for (const candidate of candidates) items.push(await candidateView(media, asset, candidate, currency))
  const list = markup`<ol class="candidates" data-kind="${kind}">${items}</ol>`
  if (files.length === 0) return list
  if (!candidates.some(({ state }) => state === 'picked')) {
    return markup`${list}<h4 class="now">In use now</h4>${output}`
  }
  return markup`${output}<details class="others"><summary>All ${candidates.length} candidates</summary>${list}</details>`
}

/** A command with a button that copies it. */
export function commandToCopy(words: readonly string[]): Markup {
  const line = nextCommand(words).toString()
  return markup`<div class="command"><code dir="ltr">${line}</code><button type="button" data-copy="${line}"
 aria-label="Copy ${line}">Copy</button></div>`
}

function emptyStage({ state, output }: ReportAsset): Markup {
  const text = state === 'lost' ? 'The file is gone' : 'Nothing to see yet'
  return markup`<div class="empty"><p>${text}</p><p class="quiet" dir="auto">${output}</p></div>`
}

async function outputView(media: SheetMedia, asset: ReportAsset): Promise<Markup> {
  const { files, before, kind, state, id } = asset
  const [nowLabel, beforeLabel] =
    state === 'changed'
      ? ['Changed by hand', 'As locked']
      : before.length > 0
        ? ['After', 'Before']
        : ['', '']
  const now = await shots(media, asset, files, nowLabel)
  if (before.length === 0) return markup`<div class="shots">${now}</div>`
  const then = await shots(media, asset, before, beforeLabel)
  const canSlide = kind === 'image' && files.length === 1 && before.length === 1
  const views = [
    ['side', 'Side by side'],
    ...(canSlide ? [['slider', 'Slider']] : []),
    ['before', beforeLabel],
    ['after', nowLabel],
  ] as const
  const buttons = views.map(
    ([view, label], index) =>
      markup`<button type="button" data-view="${view}" aria-pressed="${index === 0 ? 'true' : 'false'}">${label}</button>`,
  )
  return markup`<div class="compare" data-view="side">
<div class="views" role="group" aria-label="How to compare ${id}">${buttons}</div>
<div class="pair"${files.some(isWide) ? markup` data-wide` : nothing}><div class="before">${then}</div><div class="after">${now}</div>${
    canSlide
      ? markup`<input class="split" type="range" min="0" max="100" value="50" step="0.1" aria-label="${id}: how much of the version before is shown">`
      : nothing
  }</div>
</div>`
}

/** Wide pictures are larger one below the other. */
function isWide({ width, height }: ReportFile): boolean {
  return width !== null && height !== null && width > 1.9 * height
}

async function candidateView(
  media: SheetMedia,
  asset: ReportAsset,
  candidate: ReportCandidate,
  currency: string | null,
): Promise<Markup> {
  const { number, state, reasons, files, pick, cost, took_s, model } = candidate
  const tone = { awaiting: 'decision', picked: 'done', rejected: 'failed' }[state]
  const facts = [
    model,
    took_s === null ? null : tookText(took_s),
    cost === null ? null : `${costText(cost, currency)} estimated`,
  ].filter((fact) => fact !== null)
  return markup`<li class="candidate" data-number="${number}">
<p class="rank"><b>${number}</b><span class="state" data-tone="${tone}">${state}</span></p>
${await shots(media, asset, files, `Candidate ${number}`)}
<p class="quiet">${facts.join(' · ')}</p>
${reasons.length === 0 ? nothing : markup`<ul class="failed">${reasons.map((reason) => markup`<li dir="auto">${reason}</li>`)}</ul>`}
${pick === null ? nothing : commandToCopy(pick)}
</li>`
}

async function shots(
  media: SheetMedia,
  asset: ReportAsset,
  files: readonly ReportFile[],
  label: string,
): Promise<Markup[]> {
  const figures: Markup[] = []
  for (const file of files) figures.push(await shot(media, asset, file, label))
  return figures
}

async function shot(media: SheetMedia, asset: ReportAsset, file: ReportFile, label: string): Promise<Markup> {
  const { content, kind } = await contentOf(media, asset, file, label)
  const name = label === '' ? nothing : markup`<span class="label">${label}</span> `
  const facts = fileFacts(file).join(' · ')
  return markup`<figure class="shot" data-shown="${kind}">${content}<figcaption>${name}<span class="quiet">${facts}</span></figcaption></figure>`
}

/** Pictures and videos get their bytes when they come into view. */
async function contentOf(
  media: SheetMedia,
  asset: ReportAsset,
  file: ReportFile,
  label: string,
): Promise<{ content: Markup; kind: 'img' | 'video' | 'text' | 'link' }> {
  const name = label === '' ? asset.id : `${asset.id}, ${label}`
  const embedded = media.embeddedAs(file)
  if (embedded !== undefined && shownAs(file.media_type) === 'img') {
    const { width, height } = file
    const size = width === null || height === null ? nothing : markup` width="${width}" height="${height}"`
    const image = markup`<img data-media="${embedded.id}" alt="${asset.alt ?? name}"${size} decoding="async">`
    return {
      content: markup`<button type="button" class="zoom" aria-label="Enlarge ${name}">${image}</button>`,
      kind: 'img',
    }
  }
  if (embedded !== undefined) {
    return {
      content: markup`<video data-media="${embedded.id}" controls muted loop playsinline preload="metadata" aria-label="${asset.alt ?? name}"></video>`,
      kind: 'video',
    }
  }
  const text =
    asset.kind === 'text' && shownAs(file.media_type) === undefined ? await media.readText(file) : undefined
  if (text === undefined) return { content: leftOut(media, file), kind: 'link' }
  const rest =
    text.bytesLeft === 0
      ? nothing
      : markup`<p class="quiet">${byteText(text.bytesLeft)} more in ${file.path}</p>`
  const readable = readableText(text.text, file.media_type)
  return {
    content: markup`<div class="text" dir="auto" tabindex="0" role="region" aria-label="${name}" data-type="${textKind(file)}">${readable}</div>${rest}`,
    kind: 'text',
  }
}

/** How a text is set: `json`, `markdown` or `plain`. */
function textKind({ path, media_type }: ReportFile): string {
  if (media_type.includes('json') || path.endsWith('.json')) return 'json'
  return path.endsWith('.md') ? 'markdown' : 'plain'
}

/** A file without a place in the sheet, or without bytes. */
function leftOut(media: SheetMedia, file: ReportFile): Markup {
  const link = media.linkTo(file)
  if (link === undefined)
    return markup`<div class="empty"><p>The file is gone</p><p class="quiet" dir="auto">${file.path}</p></div>`
  return markup`<div class="empty"><p>Not in this page</p><p><a href="${link}" dir="auto">${file.path}</a></p></div>`
}
