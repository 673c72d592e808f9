/** The races that a provider has to win with each kind of store, and with any number of nodes. */
import { describe, expect, test } from '@jest/globals';
import { Agent } from '../client/agent.js';
import { obtainCode } from '../client/steps.js';
import {
  assertionRound,
  type Contestants,
  codeRound,
  logoutRound,
  pushedRequestRound,
  refreshRound,
  revocationRound,
  ssoClients,
  ssoRound,
  type Tally,
} from './rounds.js';

export interface RaceOptions {
  /** Rounds of each race for a code, a pushed request, an assertion and a refresh token. */
  readonly credentials: number;
  /** Number of concurrent uses of each credential. */
  readonly uses: number;
  /** Rounds in which clients sign in at the same time. */
  readonly signIns: number;
  /** Rounds in which a logout and authorizations run at the same time. */
  readonly logouts: number;
  /** Waits this number of steps. A step takes about as long as a part of a request. */
  readonly pause: (steps: number) => Promise<unknown>;
}

/** Rounds with the same agent. A session keeps its grants, so that more rounds would measure the size of the session. */
const ROUNDS_OF_AN_AGENT = 20;

/** Registers all races. The races call `arena` when they run. */
export function testRaces(
  arena: () => Contestants & { readonly issuer: string },
  { credentials, uses, signIns, logouts, pause }: RaceOptions,
): void {
  const signedIn = async () => {
    const agent = new Agent();
    await obtainCode(arena().issuer, agent);
    return agent;
  };
  /** Plays rounds one after the other, and returns the sum of the tallies. With `npm run prove`, prints the sum too. */
  const play = async (rounds: number, round: (agent: () => Promise<Agent>, index: number) => Promise<Tally>): Promise<Tally> => {
    const started = Date.now();
    const sum: Record<string, number> = {};
    let agent: Promise<Agent> | undefined;
    for (let index = 0; index < rounds; index += 1) {
      if (index % ROUNDS_OF_AN_AGENT === 0) agent = undefined;
      const tally = await round(() => (agent ??= signedIn()), index);
      for (const [name, count] of Object.entries(tally)) sum[name] = (sum[name] ?? 0) + count;
    }
    const { currentTestName } = expect.getState();
    if (process.env.PROVE)
      process.stderr.write(`${currentTestName}: ${rounds} rounds, ${Date.now() - started} ms: ${JSON.stringify(sum)}\n`);
    return sum;
  };

  describe('B1, J1: one of many uses at once succeeds', () => {
    test.each(['web', 'spa', 'jwt'])('B1: a code of %s', async (client) => {
      expect(await play(credentials, async (agent) => codeRound(arena().issuer, uses, await agent(), client))).toEqual({
        200: credentials,
        '400 invalid_grant': credentials * (uses - 1),
        'live access tokens': credentials,
        'live refresh tokens': credentials,
      });
    });

    test('C1: a pushed request', async () => {
      expect(await play(credentials, async (agent) => pushedRequestRound(arena().issuer, uses, await agent()))).toEqual({
        codes: credentials,
        invalid_request_uri: credentials * (uses - 1),
        'live access tokens': credentials,
        'codes of a replay': 0,
        '5xx': 0,
      });
    });

    test('B11: a client assertion', async () => {
      expect(await play(credentials, () => assertionRound(arena().issuer, uses, arena().asserting))).toEqual({
        answered: credentials,
        refused: credentials * (uses - 1),
        'live access tokens': credentials,
      });
    });

    test.each(['web', 'jwt'])('B3: a refresh token of %s has one successor, and the family lives', async (client) => {
      expect(await play(credentials, async (agent) => refreshRound(arena().issuer, uses, await agent(), client))).toEqual({
        successors: credentials,
        // One use rotates the token, and five uses are retries within the grace.
        'refused within the grace': credentials * Math.max(0, uses - 6),
        'families that go on': credentials,
        'live access tokens afterwards': credentials,
        'live refresh tokens afterwards': credentials,
        '5xx': 0,
      });
    });

    test('B3, B6: refreshes raced with a revocation leave nothing alive', async () => {
      expect(await play(credentials, async (agent) => revocationRound(arena().issuer, Math.min(uses, 20), await agent()))).toEqual({
        'live access tokens': 0,
        'live refresh tokens': 0,
        '5xx': 0,
      });
    });
  });

  describe('F2, F3: one session, many requests', () => {
    test('F3: three clients in three tabs each lose no authorization, and one logout reaches and ends all', async () => {
      const clients = signIns * ssoClients.length;
      expect(await play(signIns, () => ssoRound(arena().issuer, arena()))).toEqual({
        'authorizations that work': clients * 3,
        'clients told of the logout': clients,
        'authorizations ended': clients * 3,
        '400 invalid_grant': clients * 3,
      });
    });

    test('F2: a logout raced with authorizations leaves no session, no code and no token', async () => {
      expect(await play(logouts, (_agent, index) => logoutRound(arena().issuer, index, pause))).toEqual({
        'live sessions': 0,
        'live access tokens': 0,
        'live refresh tokens': 0,
        '5xx': 0,
      });
    });
  });
}
