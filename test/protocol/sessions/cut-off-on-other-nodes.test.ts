/**
 * F5, E3, 2.13: after one node has answered a change that cuts off sign-ins, no other node gives access. The other nodes have cached the
 * user, and the change feed tells them nothing. Each cut-off × each reader of cached users.
 */
import { expect, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce, signIn, titleOf } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { authorizationOf, introspect, redeem, refresh, responseOf, userinfo } from '../../support/client/steps.js';
import { type CutOff, type CutSubject, cutOffs, cutSubject } from '../../support/sign-in/cut-offs.js';
import { here, type SharedNodes, there, withSharedNodes } from '../../support/stores/shared-nodes.js';

interface SignedIn {
  readonly subject: CutSubject;
  readonly agent: Agent;
  readonly accessToken: string;
  readonly refreshToken: string;
}

const pkce = createPkce();
const authorizationOfUser = (issuer: string, { tenant }: CutSubject, more: Record<string, string> = {}) =>
  authorizeUrl(issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', acr_values: `tenant:${tenant}`, ...more });

async function signedIn(issuer: string, subject: CutSubject): Promise<SignedIn> {
  const agent = new Agent();
  const answer = await signIn(agent, authorizationOfUser(issuer, subject, { scope: 'openid offline_access' }), subject.userName, 'old');
  const code = { client: 'web', code: responseOf(answer).get('code') ?? '', verifier: pkce.verifier };
  const { json } = await redeem(issuer, code);
  // From here on, the grant of this scope exists.
  await agent.get(authorizationOfUser(issuer, subject, { prompt: 'none', scope: 'openid' }));
  return { subject, agent, accessToken: json.access_token, refreshToken: json.refresh_token };
}

interface Reader {
  ask(issuer: string, signedIn: SignedIn): Promise<unknown>;
  /** Answer to a user whose sign-ins ended. Undefined means that the answer depends on whether the user may still sign in. */
  readonly ended?: unknown;
}

const scopes = async (issuer: string, id: string): Promise<unknown> => {
  const url = `${issuer}/connect/scope/introspect?${new URLSearchParams({ sub: id, scope: 'openid' })}`;
  const { status } = await fetch(url, { headers: authorizationOf('web') });
  return status;
};

/** All requests that cached users may answer. */
const readers: Readonly<Record<string, Reader>> = {
  'introspection of an access token': {
    ask: async (issuer, { accessToken }) => (await introspect(issuer, accessToken)).json.active,
    ended: false,
  },
  'introspection of a refresh token': {
    ask: async (issuer, { refreshToken }) => (await introspect(issuer, refreshToken)).json.active,
    ended: false,
  },
  userinfo: { ask: async (issuer, { accessToken }) => (await userinfo(issuer, accessToken)).status, ended: 401 },
  'silent authorization': {
    ask: async (issuer, { agent, subject }) => membersOf(await agent.get(authorizationOfUser(issuer, subject, { prompt: 'none' }))).error,
    ended: 'login_required',
  },
  'scope introspection': { ask: (issuer, { subject: { oid } }) => scopes(issuer, oid) },
  'scope introspection of the parent': { ask: (issuer, { subject: { owner } }) => scopes(issuer, owner.oid) },
};

/** Requests that use the grant again, and never read it from a cache. */
const writers: Readonly<Record<string, Reader>> = {
  refresh: { ask: async (issuer, { refreshToken }) => (await refresh(issuer, refreshToken)).json.error, ended: 'invalid_grant' },
};

const asked = async (among: Readonly<Record<string, Reader>>, issuer: string, who: SignedIn) => {
  const answers: Record<string, unknown> = {};
  for (const [name, { ask }] of Object.entries(among)) answers[name] = await ask(issuer, who);
  return answers;
};

const endedOf = (among: Readonly<Record<string, Reader>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(among).flatMap(([name, { ended }]) => (ended === undefined ? [] : [[name, ended]])));

function suite({ nodes, other, idpAt }: SharedNodes): void {
  /**
   * Cuts a user off while the other node keeps its cached rows.
   * @returns whether the node kept the rows; a node that was too busy to read the change feed reads the store
   */
  async function cutWhileHeld({ of, cut }: CutOff): Promise<boolean> {
    const who = await nodes().onlyAt(there, async () => signedIn(nodes().issuer, await cutSubject(idpAt(here), of)));
    const askedAt = (node: number, among = readers) => nodes().onlyAt(node, () => asked(among, nodes().issuer, who));
    await askedAt(there);
    await askedAt(there);
    await other().hold();
    const { oid, owner } = who.subject;
    const cached = () =>
      Promise.all([oid, owner.oid].map(async (id) => (await idpAt(there).directory.accounts.recentByOid(id))?.person.version));
    const before = await cached();
    await cut(idpAt(here), who.subject);
    const answers = await askedAt(there);
    const isKept = JSON.stringify(await cached()) === JSON.stringify(before);
    expect(answers).toEqual({ ...(await askedAt(here)), ...endedOf(readers) });
    expect(await askedAt(there, writers)).toEqual(endedOf(writers));
    other().goOn();
    return isKept;
  }

  test.each(Object.entries(cutOffs))('E3, F5: %s', async (_, cutOff) => {
    let attempts = 0;
    while (!(await cutWhileHeld(cutOff))) expect(attempts++).toBeLessThan(5);
  });

  test('F5: a user who changes the password stays signed in with this browser alone, on the node that has cached the user too', async () => {
    const subject = await cutSubject(idpAt(here), 'own');
    const [own, elsewhere] = await nodes().onlyAt(there, async () => [
      await signedIn(nodes().issuer, subject),
      await signedIn(nodes().issuer, subject),
    ]);
    const askedAt = (node: number, who: SignedIn, among = readers) => nodes().onlyAt(node, () => asked(among, nodes().issuer, who));
    const live = await askedAt(there, own);
    expect(await askedAt(there, elsewhere)).toEqual(live);
    await other().hold();
    await nodes().onlyAt(here, async () => {
      const form = await own.agent.follow(await own.agent.get(`${nodes().issuer}/idp/account/password`));
      const fields = { current: 'old', password: 'a new password that is long', others: 'yes' };
      expect(titleOf(await own.agent.submit(form, fields))).toBe('Your password is changed');
    });
    for (const node of [there, here]) {
      expect(await askedAt(node, own)).toEqual(live);
      expect(await askedAt(node, elsewhere)).toEqual({ ...live, ...endedOf(readers) });
      expect(await askedAt(node, elsewhere, writers)).toEqual(endedOf(writers));
    }
    other().goOn();
    expect(await askedAt(there, own)).toEqual(live);
    expect(await askedAt(there, own, writers)).toEqual({ refresh: undefined });
  });

  test.each(['session', 'others'] as const)('issue 46: a sign-in that its user ends on the account page: %s', async (field) => {
    const subject = await cutSubject(idpAt(here), 'own');
    const [elsewhere, mine] = [
      await nodes().onlyAt(there, () => signedIn(nodes().issuer, subject)),
      await nodes().onlyAt(there, () => signedIn(nodes().issuer, subject)),
    ];
    const askedThere = (who: SignedIn, among = readers) => nodes().onlyAt(there, () => asked(among, nodes().issuer, who));
    for (const who of [elsewhere, mine, elsewhere, mine]) await askedThere(who);
    await other().hold();
    await nodes().onlyAt(here, async () => {
      const page = await mine.agent.follow(await mine.agent.get(`${nodes().issuer}/idp/account/sessions`));
      const [, ended = ''] = [...page.body.matchAll(/name="session" value="([^"]+)"/g)].map(([, id]) => id);
      await mine.agent.submit(page, field === 'session' ? { session: ended } : { others: 'yes' });
    });
    expect(await askedThere(elsewhere)).toMatchObject(endedOf(readers));
    expect(await askedThere(elsewhere, writers)).toEqual(endedOf(writers));
    expect(await askedThere(mine)).toMatchObject({
      'introspection of an access token': true,
      'introspection of a refresh token': true,
      userinfo: 200,
      'silent authorization': undefined,
    });
    expect(await askedThere(mine, writers)).toEqual({ refresh: undefined });
  });

  test('service specification 4.5, 4.7, 4.11, 4.2: a node that has cached the user reads nothing of the directory, and a redemption reads the user', async () => {
    const who = await nodes().onlyAt(there, async () => signedIn(nodes().issuer, await cutSubject(idpAt(here), 'own')));
    /** Returns the reads of one of some equal requests. A node that was too busy to look at the change feed reads more. */
    const least = async (call: () => Promise<unknown>): Promise<readonly string[]> => {
      const all: (readonly string[])[] = [];
      while (all.length < 8 && !all.some((reads) => reads.length === 0)) all.push(await other().readsDuring(call));
      return all.at(-1) as readonly string[];
    };
    const ofPersons = async (call: () => Promise<unknown>) =>
      (await other().readsDuring(call)).filter((read) => read.startsWith('persons'));
    await nodes().onlyAt(there, async () => {
      for (const [name, { ask }] of Object.entries(readers))
        expect([name, await least(() => ask(nodes().issuer, who))]).toEqual([name, []]);
      const url = authorizationOfUser(nodes().issuer, who.subject, { prompt: 'none' });
      const code = responseOf(await who.agent.get(url)).get('code') ?? '';
      const redeeming = () => redeem(nodes().issuer, { client: 'web', code, verifier: pkce.verifier });
      expect(await ofPersons(redeeming)).toEqual(['persons.find']);
      expect(await ofPersons(() => refresh(nodes().issuer, who.refreshToken))).toEqual(['persons.find']);
      // A grant of another scope stores the `sub`, so it is made from the row in the store.
      const wider = authorizationOfUser(nodes().issuer, who.subject, { prompt: 'none', scope: 'openid profile email' });
      expect(await ofPersons(() => who.agent.get(wider))).toContain('persons.find');
    });
  });

  test('F5: enabling a user again, and a row that is removed from the cache, are seen at once', async () => {
    const who = await nodes().onlyAt(there, async () => signedIn(nodes().issuer, await cutSubject(idpAt(here), 'own')));
    const { users } = idpAt(here).tenant(who.subject.tid);
    await users.disable(who.subject.oid);
    await nodes().onlyAt(there, () => asked(readers, nodes().issuer, who));
    await other().hold();
    await users.enable(who.subject.oid);
    expect((await idpAt(there).directory.accounts.recentByOid(who.subject.oid))?.person.user.status).toBe('active');
  });

  test('H1: all callers share the row of a cached user, and nobody can change it', async () => {
    const { oid } = await cutSubject(idpAt(here), 'own');
    const { accounts } = idpAt(there).directory;
    await accounts.recentByOid(oid);
    const [one, two] = [await accounts.recentByOid(oid), await accounts.recentByOid(oid)];
    expect(one?.person).toBe(two?.person);
    expect([one?.person, one?.person.user, one?.person.user.groupIds].map(Object.isFrozen)).toEqual([true, true, true]);
  });
}

withSharedNodes(['REDIS_URL', 'MONGODB_URL', 'POSTGRES_URL'], suite);
