/** A file of the source as text: see embedded-text.build.ts. */
declare module '*?text' {
  export const text: string
}
