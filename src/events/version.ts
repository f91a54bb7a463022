/**
 * Grows when a field is added or changed in meaning; readers may rely on fields never going away. Apart from the shapes
 * (`fields.ts`), which load a library that a call does not need.
 */
export const outputVersion = 1
