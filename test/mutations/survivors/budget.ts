import type { Survivors } from '../survivors.ts'

export const budget: readonly Survivors[] = []
