import { hash } from 'node:crypto'
import type { AssetReport, ReportAsset } from '../../events/asset-report.ts'
import { assetCard } from './asset-card.ts'
import { markup, nothing, type Markup } from './markup.ts'
import { counted, sectionsOf, stateLabel, sumFacts, timeText } from './report-words.ts'
import { base64Of, planMedia, type SheetPlace } from './sheet-media.ts'
import { toneOf } from './state-words.ts'

/**
 * Writes a report as one HTML page that loads nothing from elsewhere: pictures and videos are in it, as far as there is
 * room. Piece by piece, so that they need not be in memory together.
 */
export async function* contactSheet(report: AssetReport, place: SheetPlace): AsyncIterable<string> {
  const style = await styles()
  const { text: script } = await import('./sheet/sheet-page.ts?text')
  const media = await planMedia(report, place)
  const anchors = new Map(report.assets.map(({ id }, index) => [id, `a${index + 1}`]))
  const context = { media, anchors, currency: report.sums.currency }
  yield head(report, style, script)
  yield pageTop(report, media.leftOut).html
  for (const { title, tone, assets } of sectionsOf(report.assets)) {
    yield markup`<section data-tone="${tone}"><h2>${title} <span class="quiet">${assets.length}</span></h2>\n`
      .html
    for (const asset of assets) yield (await assetCard(context, asset)).html
    yield '</section>\n'
  }
  yield `${pageEnd.html}<script>${script}</script>\n`
  // Behind the page, so that it can be read while they arrive. Base64 holds no character that could end the element.
  for (const { id, mediaType, path } of media.embedded) {
    yield markup`<script type="application/octet-stream" id="${id}" data-type="${mediaType}">`.html
    yield* base64Of(path)
    yield '</script>\n'
  }
  yield '</body>\n</html>\n'
}

async function styles(): Promise<string> {
  const files = await Promise.all([
    import('./sheet/sheet.css?text'),
    import('./sheet/stage.css?text'),
    import('./sheet/overlays.css?text'),
  ])
  return files.map(({ text }) => text).join('')
}

/** Nothing is loaded and nothing is run but what is named here, whatever else might be in the page. */
function head(report: AssetReport, style: string, script: string): string {
  const policy = [
    "default-src 'none'",
    `script-src '${sourceHash(script)}'`,
    `style-src '${sourceHash(style)}'`,
    'img-src data: blob:',
    'media-src blob:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  const title = `${report.name} · ${report.manifest}`
  return `<!doctype html>
<html lang="en" data-layout="list">
<head>
<meta charset="utf-8">
${markup`<meta http-equiv="Content-Security-Policy" content="${policy}">`.html}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${markup`<title>${title}</title>`.html}
<style>${style}</style>
</head>
<body>
`
}

/** As a content security policy names a text that stands in the page. */
function sourceHash(text: string): string {
  return `sha256-${hash('sha256', text, 'base64')}`
}

function pageTop(report: AssetReport, leftOut: number): Markup {
  const { name, manifest, time, sandbox, assets } = report
  return markup`<header class="top">
<h1 dir="auto">${name}</h1>
${sandbox ? markup`<span class="badge">sandbox</span>` : nothing}
<p class="quiet"><span dir="auto">${manifest}</span> · ${timeText(time)}</p>
<p class="sums">${sumFacts(report).join(' · ')}</p>
${leftOut === 0 ? nothing : markup`<p class="notice">${counted(leftOut, 'file')} had no room in this page and ${leftOut === 1 ? 'is' : 'are'} linked.</p>`}
<noscript><p class="notice">Pictures and videos are shown by a script of this page, which is not allowed to run here.</p></noscript>
<div class="states" id="states" role="group" aria-label="States">${stateButtons(assets)}</div>
</header>
<nav class="tools" aria-label="Choose assets">
<div class="search"><input type="search" id="search" placeholder="Search" aria-label="Search names, prompts and paths" autocomplete="off" spellcheck="false"><kbd>/</kbd></div>
${choice('kind', 'All kinds', wordsOf(assets, 'kind'))}
${choice('job', 'All jobs', wordsOf(assets, 'job'))}
<p id="count" role="status"></p>
<button type="button" id="clear" hidden>Clear</button>
<div class="page-buttons">
<button type="button" id="layout" aria-pressed="false" title="List or grid (g)">Grid</button>
<button type="button" id="theme" title="Light or dark (t)"></button>
<button type="button" id="print" title="Print with all pictures">Print</button>
<button type="button" id="help" title="Keys (?)" aria-label="Keys">?</button>
</div>
</nav>
<main>
`
}

/** A button for each state, in the order in which assets are shown. */
function stateButtons(assets: readonly ReportAsset[]): Markup[] {
  const byLabel = Map.groupBy(assets, stateLabel)
  return [...byLabel].map(
    ([label, found]) =>
      markup`<button type="button" class="state" data-tone="${toneOf(found[0]!)}" data-state="${label}" aria-pressed="false">${label} <b>${found.length}</b></button>`,
  )
}

function wordsOf(assets: readonly ReportAsset[], field: 'job' | 'kind'): string[] {
  return [...new Set(assets.map((asset) => asset[field]))].sort()
}

function choice(id: string, all: string, words: readonly string[]): Markup {
  if (words.length < 2) return nothing
  const options = words.map((word) => markup`<option value="${word}">${word}</option>`)
  return markup`<select id="${id}" aria-label="${all}"><option value="">${all}</option>${options}</select>`
}

const keys: readonly (readonly [keys: readonly string[], what: string])[] = [
  [['j', '→'], 'next asset'],
  [['k', '←'], 'previous asset'],
  [['Enter'], 'enlarge its picture, or play its video'],
  [['c'], 'compare before and after another way'],
  [['1', '…', '9'], 'copy the command that picks this candidate'],
  [['/'], 'search'],
  [['g'], 'list or grid'],
  [['t'], 'light or dark'],
  [['Space'], 'in the large view: hold to see the version before'],
  [['z', 'b'], 'in the large view: actual size, other background'],
  [['Esc'], 'close, or clear the search'],
]

const pageEnd = markup`<p id="none" hidden>Nothing matches. <button type="button" id="show-all">Show all</button></p>
</main>
<dialog id="viewer" aria-label="Large view">
<div class="viewer-bar"><p id="viewer-name" dir="auto"></p><p class="quiet" id="viewer-facts"></p><div id="viewer-command"></div>
<span class="viewer-buttons"><button type="button" id="viewer-hold" hidden>Hold for before</button>
<button type="button" id="viewer-ground">Background</button>
<button type="button" id="viewer-size" aria-pressed="false">Actual size</button>
<button type="button" id="viewer-previous" aria-label="Previous picture">←</button>
<button type="button" id="viewer-next" aria-label="Next picture">→</button>
<button type="button" id="viewer-close" aria-label="Close">✕</button></span></div>
<div class="viewer-frame" data-ground="checks" tabindex="0" role="group" aria-label="Picture"><img id="viewer-image" alt=""></div>
</dialog>
<dialog id="keys" aria-labelledby="keys-title"><h2 id="keys-title">Keys</h2>
<dl>${keys.map(([names, what]) => markup`<dt>${names.map((name) => (name === '…' ? markup`…` : markup`<kbd>${name}</kbd> `))}</dt><dd>${what}</dd>`)}</dl>
<button type="button" id="keys-close">Close</button></dialog>
<p id="toast" role="status"></p>
`
