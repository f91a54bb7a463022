import type { Survivors } from '../survivors.ts'

export const lock: readonly Survivors[] = []
