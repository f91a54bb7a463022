import { addressFor } from './lazy-media.ts'
import { all, find, listen } from './page-parts.ts'

const grounds = ['checks', 'white', 'black'] as const

/** The large view: every picture of the assets that are shown, one after the other. */
export function startViewer(): void {
  const viewer = find<HTMLDialogElement>('#viewer')
  const image = find<HTMLImageElement>('#viewer-image')
  const frame = find('.viewer-frame')
  let pictures: HTMLImageElement[] = []
  let at = 0

  function show(index: number): void {
    at = (index + pictures.length) % pictures.length
    const picture = pictures[at]!
    image.src = addressFor(picture)
    image.alt = picture.alt
    const label = picture.closest('.shot')?.querySelector('figcaption')?.textContent ?? ''
    find('#viewer-name').textContent = picture.closest('.asset')?.querySelector('h3')?.textContent ?? ''
    find('#viewer-facts').textContent = `${label} · ${at + 1} of ${pictures.length}`
    const command = picture.closest('.candidate')?.querySelector('.command')
    find('#viewer-command').replaceChildren(...(command ? [command.cloneNode(true)] : []))
    find('#viewer-hold').hidden = beforeOf(picture) === undefined
  }

  function open(picture: HTMLImageElement): void {
    pictures = all<HTMLImageElement>('.asset:not([hidden]) img[data-media]').filter(
      (each) => each === picture || each.checkVisibility() || each.closest('.compare') === null,
    )
    setActualSize(false)
    show(pictures.indexOf(picture))
    viewer.showModal()
    frame.focus()
  }

  function setActualSize(isActual: boolean): void {
    frame.dataset['size'] = isActual ? 'actual' : 'fit'
    find('#viewer-size').ariaPressed = String(isActual)
  }

  function changeGround(): void {
    const now = grounds.findIndex((ground) => ground === frame.dataset['ground'])
    frame.dataset['ground'] = grounds[(now + 1) % grounds.length]!
  }

  function showBefore(isHeld: boolean): void {
    const picture = pictures[at]
    const before = picture && beforeOf(picture)
    if (before) image.src = addressFor(isHeld ? before : picture)
  }

  const toggleSize = () => setActualSize(frame.dataset['size'] !== 'actual')
  const hold = find('#viewer-hold')
  hold.addEventListener('pointerdown', () => showBefore(true))
  for (const type of ['pointerup', 'pointerleave', 'pointercancel'])
    hold.addEventListener(type, () => showBefore(false))
  image.addEventListener('click', toggleSize)
  listen('#viewer-size', 'click', toggleSize)
  listen('#viewer-ground', 'click', changeGround)
  listen('#viewer-next', 'click', () => show(at + 1))
  listen('#viewer-previous', 'click', () => show(at - 1))
  listen('#viewer-close', 'click', () => viewer.close())
  viewer.addEventListener('keyup', (event) => {
    if (event.key !== ' ' || hold.hidden) return
    event.preventDefault()
    showBefore(false)
  })
  viewer.addEventListener('keydown', (event) => {
    const actions: Readonly<Record<string, () => void>> = {
      ArrowRight: () => show(at + 1),
      ArrowLeft: () => show(at - 1),
      j: () => show(at + 1),
      k: () => show(at - 1),
      z: toggleSize,
      b: changeGround,
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return
    // On a button the space bar presses it.
    const isSpace = event.key === ' ' && !hold.hidden
    if (!isSpace && !Object.hasOwn(actions, event.key)) return
    event.preventDefault()
    event.stopPropagation()
    if (isSpace) showBefore(true)
    else actions[event.key]?.()
  })
  for (const button of all('.zoom')) {
    button.addEventListener('click', () => open(find<HTMLImageElement>('img', button)))
  }
}

/** The version before of the picture after. */
function beforeOf(picture: HTMLImageElement): HTMLImageElement | undefined {
  if (picture.closest('.after') === null) return undefined
  return picture.closest('.pair')?.querySelector<HTMLImageElement>('.before img[data-media]') ?? undefined
}
