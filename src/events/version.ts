/** Grows when a field is added or changed in meaning; readers may rely on fields never going away. */
export const outputVersion = 1
