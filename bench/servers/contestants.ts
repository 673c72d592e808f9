/** Contestants, each in its own process and database, and their start. */
import { Connection } from '../requests/connection.js';
import { obtainTokens } from '../requests/requests.js';
import { userScopes } from '../world.js';
import { type Contestant, startContestant } from './contestant.js';

/**
 * Sides of the comparison:
 * - `plain`: oidc-provider on a plain, correct adapter,
 * - `control`: the same as `plain`,
 * - `published`: oidc-provider on its published example,
 * - `ours`: this library.
 */
export const sides = ['plain', 'ours', 'control', 'published'] as const;
export type Side = (typeof sides)[number];
export type Contestants = Readonly<Partial<Record<Side, Contestant>>>;

export interface ContestantsOptions {
  /** URL of the Redis server. */
  readonly redis: string;
  /** Sides with which this library is compared. */
  readonly against: readonly string[];
  /** Folder that gets a V8 CPU profile of this library. */
  readonly profile?: string | undefined;
}

/** @param started gets each contestant as it starts, so that all contestants can be stopped in every case. */
export async function startContestants(
  { redis, against, profile }: ContestantsOptions,
  started: (one: Contestant) => void,
): Promise<Contestants> {
  // The library reads NODE_ENV once, to refuse an http issuer in production. No measured work depends on NODE_ENV, in this library or in oidc-provider.
  const ours = await startContestant({
    module: 'ours',
    env: { NODE_ENV: 'development', BENCH_STORES: JSON.stringify([{ artifacts: `${redis}/0` }]) },
    profile,
  });
  started(ours);
  const contestants: Partial<Record<Side, Contestant>> = { ours };
  const claims = await claimsOf(ours);
  for (const [index, side] of sides.entries()) {
    if (side === 'ours' || !against.includes(side)) continue;
    const env = { NODE_ENV: 'production', BENCH_ADAPTER: side, BENCH_REDIS: `${redis}/${index + 1}`, BENCH_CLAIMS: claims };
    const contestant = await startContestant({ module: 'bare', env });
    started(contestant);
    contestants[side] = contestant;
  }
  return contestants;
}

/** Returns the claims that this library returns at userinfo, so that all contestants return the same. */
export async function claimsOf({ issuer }: Contestant): Promise<string> {
  const connection = new Connection(issuer);
  const { access_token: token } = await obtainTokens(connection, issuer, 'web-es256', userScopes);
  const { body } = await connection.get('/connect/userinfo', { authorization: `Bearer ${token}` });
  connection.close();
  return body;
}
