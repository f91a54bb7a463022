import type { Survivors } from '../survivors.ts'

export const keys: readonly Survivors[] = []
