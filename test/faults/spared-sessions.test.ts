/**
 * Pages that end the other sign-ins of their user and spare the session of their own browser. Another person ends the sign-ins at another
 * node, immediately before or after the write of the page. The session of the page ends too. So does the sign-in that follows the
 * acceptance of an invitation.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { IdentityProvider } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Collection, DirectoryStore, Row } from 'tenant-idp/store';
import { withCollections } from '../store/with-collections.js';
import { acceptedIn, invite, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, obtainTokens, signIn } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { refresh } from '../support/client/steps.js';
import { type Instances, startInstances } from '../support/service/instances.js';
import { testSeed } from '../support/service/seed.js';
import { codeOf, copied } from '../support/sign-in/factors.js';
import { NEW_PASSWORD, pkce } from '../support/sign-in/passwords.js';
import { withDurable } from '../support/stores/durable.js';

const connection = { id: 'social', name: 'Social', issuer: 'https://up.example', clientId: 'c', clientSecret: 's' };
const seed = { ...testSeed, extensions: { connections: [connection] } } as never;

interface Somebody {
  readonly userName: string;
  readonly tid: string;
  readonly oid: string;
}
interface Browser {
  readonly agent: Agent;
  readonly at: (path: string) => string;
}
/** Opens the form of a page in a browser. The result presses the button that ends the other sign-ins. */
type OwnChange = (browser: Browser) => Promise<() => Promise<Answer>>;

const buttonOf = ({ body }: Answer, name: string): string => new RegExp(`name="${name}" value="([^"]+)"`).exec(body)?.[1] ?? '';
const opened = async ({ agent, at }: Browser, path: string): Promise<Answer> => agent.follow(await agent.get(at(path)));
async function removal(browser: Browser, path: string): Promise<() => Promise<Answer>> {
  const list = await opened(browser, path);
  const question = await browser.agent.submit(list, { remove: buttonOf(list, 'remove') });
  return () => browser.agent.submit(question, { removed: buttonOf(question, 'removed') });
}
async function app({ agent, at }: Browser): Promise<() => Promise<Answer>> {
  const page = await agent.follow(await agent.get(at('/factors/app')));
  return () => agent.submit(page, { code: codeOf(copied(page)[0] ?? '') });
}

/** Every page that spares the session of its browser. */
const ownChanges: Readonly<Record<string, OwnChange>> = {
  async 'a change of the password'(browser) {
    const form = await opened(browser, '/account/password');
    return () => browser.agent.submit(form, { current: 'old', password: NEW_PASSWORD, others: 'yes' });
  },
  async 'the end of the other sessions'(browser) {
    const list = await opened(browser, '/account/sessions');
    return () => browser.agent.submit(list, { others: 'yes' });
  },
  'a first factor': app,
  async 'the removal of a factor'(browser) {
    await (await app(browser))();
    return removal(browser, '/factors');
  },
  'the removal of an identity': (browser) => removal(browser, '/identities'),
};

const cuts: Readonly<Record<string, (idp: IdentityProvider, who: Somebody) => Promise<unknown>>> = {
  'sign-out everywhere': (idp, { tid, oid }) => idp.tenant(tid).users.signOutEverywhere(oid),
  async 'disabling, and enabling again'(idp, { tid, oid }) {
    await idp.tenant(tid).users.disable(oid);
    await idp.tenant(tid).users.enable(oid);
  },
  async 'a reset of the password'({ directory: { passwordResets } }, { oid }) {
    const due = await passwordResets.begin(oid, { requestId: randomUUID() });
    const ref = passwordResets.read((typeof due === 'object' ? due.url : '').split('/').at(-1) as string);
    if (!ref) throw new Error('no link');
    await passwordResets.accept(ref, 'another password that is long');
  },
};

type Moment = 'before' | 'after';
interface JudgedRow {
  readonly user?: { readonly notBefore?: Date; readonly status?: string };
}
/** Returns whether a write cuts off sign-ins, or makes the user active. */
const isDecisive = (before: unknown, after: unknown): boolean => {
  const [{ user: one }, { user: other }] = [before as JudgedRow, after as JudgedRow];
  return one?.notBefore?.getTime() !== other?.notBefore?.getTime() || one?.status !== other?.status;
};
/** Runs `cut` once, before or after the next write that decides about sign-ins. */
class Interruption {
  #armed: { readonly moment: Moment; readonly cut: () => Promise<unknown> } | undefined;
  hasRun = false;
  /** Whether the next write of an invitation lasts until the second after the cut-off. */
  isSlow = false;

  arm(moment: Moment, cut: () => Promise<unknown>): void {
    this.hasRun = false;
    this.#armed = { moment, cut };
  }

  over(store: DirectoryStore): DirectoryStore {
    return withCollections(
      store,
      <R extends Row>(rows: Collection<R>, name: string): Partial<Collection<R>> =>
        name === 'persons' || name === 'invitations' ? { update: (id, change) => this.#update(rows, name, id, change) } : {},
    );
  }

  async #update<R extends Row>(
    rows: Collection<R>,
    name: string,
    id: string,
    change: Parameters<Collection<R>['update']>[1],
  ): Promise<R | undefined> {
    if (name === 'invitations') {
      if (this.isSlow && this.hasRun) await sleep(1_010 - (Date.now() % 1_000));
      return rows.update(id, change);
    }
    const stale = this.#armed && (await rows.get(id));
    if (this.#armed?.moment === 'before' && stale && isDecisive(stale, change(stale))) await this.#run();
    const row = await rows.update(id, change);
    if (this.#armed?.moment === 'after' && stale && isDecisive(stale, row)) await this.#run();
    return row;
  }

  async #run(): Promise<void> {
    const { cut } = this.#armed ?? {};
    this.#armed = undefined;
    this.hasRun = true;
    await cut?.();
  }
}

/**
 * @param stores returns the adapters of a node.
 * @param isInMemory whether a write may take a second without exceeding a time limit of the store.
 */
function racesOver(stores: () => Parameters<typeof startInstances>[1], isInMemory = false): void {
  const interruption = new Interruption();
  let nodes: Instances;
  let acme: string;
  beforeAll(async () => {
    const given = stores();
    const interrupted: typeof given = (node) => {
      const { directory, ...rest } = given(node);
      return { ...rest, directory: node === 0 ? interruption.over(directory as DirectoryStore) : (directory as DirectoryStore) };
    };
    nodes = await startInstances(2, interrupted, { seed });
    acme = await tenantNamed(nodes.idps[0] as IdentityProvider, 'Acme');
  });
  afterAll(() => nodes?.close());

  const at = (path: string): string => `${nodes.issuer}/idp${path}`;
  const begin = (more: Record<string, string> = {}): string => authorizeUrl(nodes.issuer, { ...pkce, ...more });
  const isSignedIn = async (agent: Agent): Promise<boolean> => 'code' in membersOf(await agent.get(begin({ prompt: 'none' })));
  async function somebody(): Promise<Somebody> {
    const [here] = nodes.idps as [IdentityProvider];
    const userName = `spared-${randomUUID()}@acme.test`;
    const externalIdentities = [{ idp: 'social', subject: randomUUID() }];
    const { user } = await here.tenant(acme).persons.create({
      givenName: 'Sess',
      familyName: 'Ion',
      email: userName,
      user: { userName, emailVerified: true, status: 'active', externalIdentities },
    });
    const oid = user?.id ?? '';
    await here.directory.credentials.seedPassword(oid, 'old');
    return { userName, tid: acme, oid };
  }
  async function signedIn({ userName }: Somebody): Promise<Agent> {
    const agent = new Agent();
    await signIn(agent, begin(), userName, 'old');
    return agent;
  }

  describe.each(Object.entries(ownChanges))('%s', (_, open) => {
    test('spares its own session and no other', () =>
      nodes.onlyAt(0, async () => {
        const who = await somebody();
        const agent = await signedIn(who);
        const press = await open({ agent, at });
        const other = await signedIn(who);
        await agent.follow(await press());
        expect([await isSignedIn(agent), await isSignedIn(other)]).toEqual([true, false]);
      }));

    test.each(Object.keys(cuts).flatMap((cut) => (['before', 'after'] as const).map((moment) => [cut, moment] as const)))(
      'does not outlast %s by somebody else immediately %s it',
      (cut, moment) =>
        nodes.onlyAt(0, async () => {
          const who = await somebody();
          const agent = await signedIn(who);
          const press = await open({ agent, at });
          interruption.arm(moment, async () => cuts[cut]?.(nodes.idps[1] as IdentityProvider, who));
          await agent.follow(await press());
          expect([interruption.hasRun, await isSignedIn(agent)]).toEqual([true, false]);
        }),
    );
  });

  (isInMemory ? describe : describe.skip)('the sign-in that follows the acceptance of an invitation', () => {
    test('takes place', async () => {
      const agent = new Agent();
      await acceptedIn((await invite(nodes.idps[0] as IdentityProvider)).url, agent);
      expect(await isSignedIn(agent)).toBe(true);
    });

    // A new password ends each proof that was given with the previous password.
    test.each(Object.keys(cuts).filter((cut) => cut !== 'a reset of the password'))('does not outlast %s by somebody else', (cut) =>
      nodes.onlyAt(0, async () => {
        const { tid, url, userName, person } = await invite(nodes.idps[0] as IdentityProvider);
        const agent = new Agent();
        interruption.arm('after', async () => cuts[cut]?.(nodes.idps[1] as IdentityProvider, { tid, userName, oid: person.user.id }));
        interruption.isSlow = true;
        const done = await acceptedIn(url, agent);
        interruption.isSlow = false;
        expect([done.status < 500, interruption.hasRun, await isSignedIn(agent)]).toEqual([true, true, false]);
      }),
    );
  });

  test.each(['the removal of a factor', 'the removal of an identity'])(
    '%s ends what an earlier sign-in of the browser was granted',
    (name) =>
      nodes.onlyAt(0, async () => {
        const who = await somebody();
        const offline = { userName: who.userName, password: 'old', scope: 'openid offline_access' };
        const { agent, tokens: earlier } = await obtainTokens(nodes.issuer, offline);
        // Sign-in times have whole seconds, and stores have their own clock.
        await sleep(1_100);
        const { tokens: last } = await obtainTokens(nodes.issuer, { ...offline, agent, prompt: 'login' });
        const press = await ownChanges[name]?.({ agent, at });
        if (press) await agent.follow(await press());
        expect((await refresh(nodes.issuer, earlier.refresh_token)).json.error).toBe('invalid_grant');
        expect((await refresh(nodes.issuer, last.refresh_token)).status).toBe(200);
      }),
  );
}

describe('in memory', () =>
  racesOver(() => {
    const stores = { artifacts: memoryArtifacts(), directory: memoryDirectory() };
    return () => stores;
  }, true));

withDurable(['POSTGRES_URL', 'MONGODB_URL'], (durable) =>
  racesOver(() => {
    const place = durable.place();
    return () => durable.at(place);
  }),
);
