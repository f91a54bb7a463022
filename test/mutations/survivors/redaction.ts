import type { Survivors } from '../survivors.ts'

export const redaction: readonly Survivors[] = []
