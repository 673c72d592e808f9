/** Contestants, each in its own process and with its own databases, and their start. */
import { bySecret } from '../requests/applications.js';
import { Connection } from '../requests/connection.js';
import { obtainTokens } from '../requests/requests.js';
import { settings } from '../settings.js';
import { userScopes } from '../world.js';
import { type Contestant, startContestant } from './contestant.js';
import { type EarlierBuild, joinEarlierBuild } from './earlier.js';
import type { StoreUrls } from './stores.js';

/**
 * Kinds of contestants:
 * - `plain`: oidc-provider on plain, correct adapters,
 * - `published`: oidc-provider on its published example for Redis,
 * - `before`: an earlier build of this library,
 * - `ours`: this library.
 */
type Kind = 'plain' | 'published' | 'before' | 'ours';

export interface Plan {
  readonly kind: Kind;
  readonly stores: StoreUrls;
  /** Folder that gets a V8 CPU profile of the contestant. */
  readonly profile?: string | undefined;
}

export type Plans<Side extends string> = Readonly<Partial<Record<Side, Plan>>>;
export type Contestants<Side extends string> = Readonly<Partial<Record<Side, Contestant>>>;

/** A function that ends something that a measurement started. */
export type Stop = () => unknown;

/** @param stops gets a function for each contestant as it starts, so that all contestants can be stopped in every case. */
export async function startContestants<Side extends string>(plans: Plans<Side>, stops: Stop[]): Promise<Contestants<Side>> {
  const entries = Object.entries(plans) as [Side, Plan][];
  const isBare = ([, { kind }]: [Side, Plan]): boolean => kind === 'plain' || kind === 'published';
  const contestants: Partial<Record<Side, Contestant>> = {};
  let earlier: EarlierBuild | undefined;
  // A bare contestant gets its claims from a contestant of this library.
  let claims: string | undefined;
  for (const [side, plan] of [...entries.filter((entry) => !isBare(entry)), ...entries.filter(isBare)]) {
    if (plan.kind === 'before' && earlier === undefined) {
      earlier = await joinEarlierBuild(settings.before ?? '');
      stops.push(earlier.remove);
    }
    const contestant = await startContestant({
      module: isBare([side, plan]) ? 'bare' : 'ours',
      servers: plan.kind === 'before' ? earlier?.servers : undefined,
      env: environmentOf(plan, claims),
      profile: plan.profile,
    });
    stops.push(() => contestant.stop());
    contestants[side] = contestant;
    claims ??= await claimsOf(contestant);
  }
  return contestants;
}

/**
 * The library reads NODE_ENV once, to refuse an http issuer in production. No measured work depends on NODE_ENV, in this library or in oidc-provider.
 */
const environmentOf = ({ kind, stores }: Plan, claims = '') => ({
  BENCH_STORES: JSON.stringify([stores]),
  ...(kind === 'ours' || kind === 'before'
    ? { NODE_ENV: 'development' }
    : { NODE_ENV: 'production', BENCH_ADAPTER: kind, BENCH_CLAIMS: claims }),
});

/** Returns the claims that this library returns at userinfo, so that all contestants return the same. */
async function claimsOf({ issuer }: Contestant): Promise<string> {
  const connection = new Connection(issuer);
  const { access_token: token } = await obtainTokens(connection, bySecret('web-es256'), userScopes);
  const { body } = await connection.get('/connect/userinfo', { authorization: `Bearer ${token}` });
  connection.close();
  return body;
}
