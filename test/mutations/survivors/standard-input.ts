import type { Survivors } from '../survivors.ts'

export const standardInput: readonly Survivors[] = []
