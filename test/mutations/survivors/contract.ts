import type { Survivors } from '../survivors.ts'

export const contract: readonly Survivors[] = []
