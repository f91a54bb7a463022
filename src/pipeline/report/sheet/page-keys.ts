import { all, currentAsset, find, listen, shownAssets } from './page-parts.ts'

export interface PageActions {
  theme(): void
  layout(): void
}

/** The keys of the page; those of the large view are its own. */
export function startKeys(page: PageActions): void {
  const help = find<HTMLDialogElement>('#keys')
  listen('#help', 'click', () => help.showModal())
  listen('#keys-close', 'click', () => help.close())
  const actions: Readonly<Record<string, () => void>> = {
    j: () => move(1),
    ArrowRight: () => move(1),
    k: () => move(-1),
    ArrowLeft: () => move(-1),
    Enter: enlarge,
    c: compare,
    '/': () => find<HTMLInputElement>('#search').select(),
    g: () => page.layout(),
    t: () => page.theme(),
    '?': () => help.showModal(),
    Escape: () => find('#clear').click(),
  }
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isOwner(event)) return
    if (/^[1-9]$/.test(event.key)) return copyPick(event.key)
    if (!Object.hasOwn(actions, event.key)) return
    event.preventDefault()
    actions[event.key]?.()
  })
}

/** Whether the key belongs to what has the focus: a field, a video, a button that is pressed with it, a dialog. */
function isOwner({ target, key }: KeyboardEvent): boolean {
  const element = target as Element
  if (element.closest('input, select, dialog')) return true
  if (element.closest('video') && key !== 'j' && key !== 'k') return true
  return key === 'Enter' && element.closest('button, a, summary') !== null
}

function move(step: number): void {
  const assets = shownAssets()
  const current = currentAsset()
  const at = current === undefined ? -1 : assets.indexOf(current)
  const next = at < 0 ? nearest(assets) : assets[Math.min(assets.length - 1, Math.max(0, at + step))]
  if (next === undefined) return
  for (const asset of all('.asset[data-current]')) delete asset.dataset['current']
  next.dataset['current'] = ''
  next.focus({ preventScroll: true })
  next.scrollIntoView({ block: 'start' })
}

/** The first asset that is not above the window. */
function nearest(assets: readonly HTMLElement[]): HTMLElement | undefined {
  return assets.find((asset) => asset.getBoundingClientRect().bottom > 80) ?? assets[0]
}

function enlarge(): void {
  const asset = currentAsset()
  const video = asset?.querySelector<HTMLVideoElement>('video')
  if (video) return void (video.paused ? video.play() : video.pause())
  asset?.querySelector<HTMLButtonElement>('.after .zoom, .zoom')?.click()
}

/** The next way to compare before and after. */
function compare(): void {
  const buttons = all<HTMLButtonElement>(
    '.compare .views button',
    currentAsset() ?? document.createElement('div'),
  )
  const at = buttons.findIndex((button) => button.ariaPressed === 'true')
  buttons[(at + 1) % buttons.length]?.click()
}

function copyPick(number: string): void {
  const candidate = `.candidate[data-number="${number}"] [data-copy]`
  currentAsset()?.querySelector<HTMLButtonElement>(candidate)?.click()
}
