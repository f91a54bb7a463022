import type { Survivors } from '../survivors.ts'

export const exitCodes: readonly Survivors[] = []
