/**
 * How many results came of those that were asked for, as a sentence (fault E37).
 * @param kept how many of them are kept, where that is not all
 */
export function countMismatch(came: number, asked: number, noun: 'image' | 'video', kept = came): string {
  const counts = `${came} ${noun}${came === 1 ? '' : 's'} came, ${asked} ${asked === 1 ? 'was' : 'were'} asked for`
  return kept === came ? `${counts}.` : `${counts}; the first ${kept} are kept.`
}
