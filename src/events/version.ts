/** Grows when a field is added or changed in meaning. Apart from `fields.ts`, which loads a library. */
export const outputVersion = 1
