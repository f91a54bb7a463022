import type { JsonObject } from '../json-value.ts'
import { seededRandom } from '../seeded-random.ts'

const rounded = (value: number) => Math.round(value * 1e6) / 1e6

function scoreOf(token: string): number {
  return rounded(-seededRandom('logprob', token)() / 4)
}

/** `logprobsResult`: the chosen tokens, and for each as many likely ones as asked, itself first. */
export function scoresOf(tokens: readonly string[], top: number): JsonObject {
  const chosenCandidates = tokens.map((token) => rated(token, scoreOf(token)))
  const topCandidates = tokens.map((token) => {
    const random = seededRandom('likely', token)
    const others = Array.from({ length: top }, (_, rank) =>
      rank === 0
        ? rated(token, scoreOf(token))
        : rated(`${token.slice(0, 1)}${rank}`, rounded(-1 - rank - random())),
    )
    return { candidates: others }
  })
  return {
    chosenCandidates,
    ...(top > 0 && { topCandidates }),
    logProbabilitySum: rounded(totalScore(tokens)),
  }
}

function rated(token: string, logProbability: number): JsonObject {
  const tokenId = Math.floor(seededRandom('token', token)() * 200_000)
  return { token, tokenId, logProbability }
}

/** The sum of the log probabilities of tokens. */
export function totalScore(tokens: readonly string[]): number {
  return tokens.reduce((sum, token) => sum + scoreOf(token), 0)
}
