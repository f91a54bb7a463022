/** How many results came of those that were asked for, as a sentence (fault E37). */
export function cameAndAsked(came: number, asked: number, noun: 'image' | 'video'): string {
  return `${came} ${noun}${came === 1 ? '' : 's'} came, ${asked} ${asked === 1 ? 'was' : 'were'} asked for.`
}
