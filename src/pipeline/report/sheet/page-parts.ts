/** Elements of the page, which the program has written: what is asked for is there. */

/** The one element that the selector names. */
export function find<Kind extends Element = HTMLElement>(
  selector: string,
  root: ParentNode = document,
): Kind {
  const found = root.querySelector<Kind>(selector)
  if (found === null) throw new Error(`The page has no ${selector}`)
  return found
}

export function all<Kind extends Element = HTMLElement>(
  selector: string,
  root: ParentNode = document,
): Kind[] {
  return [...root.querySelectorAll<Kind>(selector)]
}

export function listen(selector: string, type: string, callback: (event: Event) => void): void {
  for (const element of all(selector)) element.addEventListener(type, callback)
}

/** The assets that the filters leave, in their order. */
export function shownAssets(): HTMLElement[] {
  return all('.asset:not([hidden])')
}

/** The asset that keys act on: the one with the focus, else the one that they came to last. */
export function currentAsset(): HTMLElement | undefined {
  const focused = document.activeElement?.closest<HTMLElement>('.asset:not([hidden])')
  return focused ?? all('.asset[data-current]:not([hidden])')[0]
}

let timer = 0

/** A short message, which screen readers tell. */
export function tell(message: string): void {
  const toast = find('#toast')
  toast.textContent = message
  window.clearTimeout(timer)
  timer = window.setTimeout(() => (toast.textContent = ''), 2500)
}
