import type { Survivors } from '../survivors.ts'

export const atomicFiles: readonly Survivors[] = []
