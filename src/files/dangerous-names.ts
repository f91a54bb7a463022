/** Names that would reach an object's prototype in careless code. No field of any gateway and no setting is called so. */
export const dangerousNames: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])
