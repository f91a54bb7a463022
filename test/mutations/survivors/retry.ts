import type { Survivors } from '../survivors.ts'

export const retry: readonly Survivors[] = []
