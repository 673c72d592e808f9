/** tenant-idp with every standard claim computed from the directory, once for each given pair of stores. */
import { setTimeout } from 'node:timers/promises';
import { createIdentityProvider, type IdentityProvider } from '../../lib/index.js';
import { requestLifetime, seed, signingKeys } from '../world.js';
import { serveAsChild } from './child.js';
import { type Chores, callerName, withChores } from './chores.js';
import { openStores, type StoreUrls } from './stores.js';

const quiet = () => {};
const logger = { debug: quiet, info: quiet, warn: quiet, error: console.error };
const { BENCH_STORES = '[]' } = process.env;

const choresOf = ({ directory, ciba, tenant }: IdentityProvider): Chores => ({
  async people(count) {
    const [acme] = await directory.tenants.find();
    const { persons } = tenant(acme?.id ?? '');
    for (let index = 0; index < count; index += 1) {
      const userName = callerName(index);
      const user = { userName, emailVerified: true, status: 'active' } as const;
      await persons.create({ givenName: 'Alice', familyName: 'Adams', email: userName, user });
    }
    await haveBeenTold(directory);
  },
  async approve(userName) {
    const [account] = await directory.accounts.candidates(userName);
    const oid = account?.person.user.id ?? '';
    const [request] = await ciba.pendingOf(oid);
    const { outcome } = await ciba.approve(request?.id ?? '', { oid, amr: ['pwd'], idp: 'local', authTime: Math.floor(Date.now() / 1000) });
    if (outcome !== 'decided') throw new Error(`the approval of ${userName} is ${outcome}`);
  },
});

/** Waits until all events are dispatched, because they would slow the next measurement. */
async function haveBeenTold({ eventFeed }: Pick<IdentityProvider['directory'], 'eventFeed'>): Promise<void> {
  for (let last = '', head = await eventFeed.head(); head !== last; ) {
    last = head;
    await setTimeout(1_000);
    head = await eventFeed.head();
  }
}

await serveAsChild(
  (JSON.parse(BENCH_STORES) as readonly StoreUrls[]).map((urls) => async (issuer) => {
    const idp = await createIdentityProvider({
      issuer,
      seed,
      ...openStores(urls),
      keys: { signing: signingKeys, encryption: ['not a secret, it seals records of a measurement'] },
      logger,
      lifetimes: { authenticationRequest: requestLifetime },
      limits: { authenticationRequestsPerMinute: 1_000_000 },
      // Sign-ins prepare a row, and are not measured.
      passwords: { scryptCost: 2 ** 6 },
    });
    return withChores(idp.callback(), choresOf(idp));
  }),
);
