/**
 * Design §4: every endpoint while a store is unavailable, and the same browsers and tokens after the outage. The store refuses or never
 * answers: reads, writes, or both.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import type { Health } from 'tenant-idp';
import { Agent, authorizeUrl } from '../../support/client/agent.js';
import { introspect } from '../../support/client/steps.js';
import { startIdp } from '../../support/service/idp.js';
import { testTogether } from '../../support/service/test-together.js';
import { failingStores } from '../../support/stores/failing-stores.js';
import { IN_TIME } from '../../support/time/in-time.js';
import { until } from '../../support/time/until.js';
import { browserCases } from './browser-cases.js';
import { type Case, outages, useFailingIdp } from './failing-idp.js';
import { oauthCases } from './oauth-cases.js';

const idp = useFailingIdp();
const { service, down, switchOff, recover, sayingOf, keepAtHand } = idp;
const cases: Readonly<Record<string, Case>> = { ...browserCases(idp), ...oauthCases(idp) };

/** Returns the health, once a write of less than a second ago no longer counts. */
async function healthOnceDown(): Promise<Health> {
  const health = await service.idp.health();
  if (health.status === 'down') return health;
  await pause(1000);
  return service.idp.health();
}

describe.each(['that refuses', 'that hangs'] as const)('design §4: a store %s', (how) => {
  const few = how === 'that refuses' ? (['reads', 'writes', 'directory'] as const) : (['everything'] as const);
  test.each(process.env.PROVE ? outages : few)('%s: 503 or the client is told, in time, and nothing is lost', async (outage) => {
    const column = outages.indexOf(outage);
    // Prepares a few cases at a time. The passwords of all cases may exceed the time limit of a request.
    // One case after the other may take longer than caches keep records.
    const prepared: (Awaited<ReturnType<Case['prepare']>> & { readonly name: string })[] = [];
    const all = Object.entries(cases);
    while (all.length > 0)
      prepared.push(...(await Promise.all(all.splice(0, 8).map(async ([name, { prepare }]) => ({ name, ...(await prepare()) })))));
    await keepAtHand();
    down.hang = how === 'that hangs';
    switchOff(outage);
    const replies = await Promise.all(
      prepared.map(async ({ name, during }) => {
        const since = performance.now();
        const reply = await during();
        return { name, reply, milliseconds: performance.now() - since };
      }),
    );
    const health = await healthOnceDown();
    recover();

    const expected = Object.entries(cases).map(([name, { says }]) => [name, says[column]]);
    // A node that read the change feed in the last two seconds answers these requests from its cached users.
    const isOfCachedUser = (name: string) => outage === 'directory' && /^(introspection|userinfo|authorize)/.test(name);
    const saidBy = (name: string, said: unknown) => (isOfCachedUser(name) && said === 'ok' ? cases[name]?.says[column] : said);
    expect(replies.map(({ name, reply }) => [name, saidBy(name, sayingOf(name, reply))])).toEqual(expected);
    expect(replies.filter(({ milliseconds }) => milliseconds > IN_TIME).map(({ name, milliseconds }) => [name, milliseconds])).toEqual([]);
    for (const { name, reply } of replies) {
      if (sayingOf(name, reply) !== 'ok') expect({ name, cookies: reply.headers.getSetCookie() }).toEqual({ name, cookies: [] });
      expect(reply.text).not.toMatch(/ECONNREFUSED|hunter2|10\.1\.2\.3|TimeoutError/);
    }
    expect(health.status).toBe('down');

    const lost: unknown[] = [];
    for (const { name, after } of prepared) await after().catch((error: unknown) => lost.push([name, String(error)]));
    expect(lost).toEqual([]);
  });
});

testTogether('design §4: an outage is one line in the log when it begins, with its cause, and one when it ends', async () => {
  // These stores had no outage yet. Soon after an outage, the next one lasts until the store was calm for longer.
  const { artifacts, directory, down, recover } = failingStores();
  const own = await startIdp({ artifacts, directory });
  for (let outage = 0; outage < 2; outage += 1) {
    down.artifacts = true;
    down.directory = true;
    for (let request = 0; request < 5; request += 1) {
      await introspect(own.issuer, 'token');
      await new Agent().get(request % 2 ? `${own.issuer}/connect/authorize?client_id=unheard-of` : authorizeUrl(own.issuer, {}));
    }
    // Background work meets the outage too.
    await pause(2500);
    recover();
    await until(() => own.logged.length >= 4);
    const told = own.logged.map(([{ store, err }, message]) => [message, store, (err as Error | undefined)?.message]);
    expect(told.sort()).toEqual([
      ['the store is available again', 'artifacts (failing)', undefined],
      ['the store is available again', 'directory (failing)', undefined],
      ['the store is unavailable', 'artifacts (failing)', expect.stringContaining('ECONNREFUSED')],
      ['the store is unavailable', 'directory (failing)', expect.stringContaining('ECONNREFUSED')],
    ]);
    own.logged.length = 0;
  }
  await own.close();
});
