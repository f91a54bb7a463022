const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u
/** Joiners, variation selectors, halves of flags and skin tones, tabs: what they take depends on the terminal. */
const uncertain = /\t|\u200d|\ufe0e|\ufe0f|\p{Regional_Indicator}|\p{Emoji_Modifier}/u
const without = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]/u

/** How many cells of a terminal a character takes; undefined where terminals disagree. */
export function widthOf(character: string): number | undefined {
  const code = character.codePointAt(0)!
  if (code >= 0x20 && code < 0x7f) return 1
  if (uncertain.test(character)) return undefined
  if (without.test(character)) return 0
  return wide.test(character) ? 2 : 1
}

/** The most that a text in one line takes, in cells. */
export function cellsOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let cells = 0
  for (const character of text) cells += widthOf(character) ?? mostOf(character)
  return cells
}

/** The most that a character takes of which terminals disagree: it may change the one before it. */
export function mostOf(character: string): number {
  if (character === '\t') return 8
  if (character === '\ufe0f') return 1
  return /\u200d|\ufe0e/.test(character) ? 0 : 2
}
