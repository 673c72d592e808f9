/** Identities of sign-in methods of extensions, as ways to sign in on the user's page. */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { type Upstream, upstreamMethod } from '../support/sign-in/upstream-method.js';

let isSecondServed = true;
const eid: Upstream = { subject: '', seen: [] };
const service = useIdp({
  limits: { signInFailuresPerAddress: 100_000 },
  extensions: [upstreamMethod('eid', eid, { serves: (idp) => idp === 'eid-second' && isSecondServed })],
  seed: testSeed as never,
});
let tid: string;
beforeAll(async () => {
  tid = await tenantNamed(service.idp, 'Acme');
});

const page = () => `${service.issuer}/idp/identities`;
const pkce = createPkce();
const url = (more: Record<string, string>) =>
  authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...more });
let count = 0;

/** Creates a user with these identities and no password. */
async function person(identities: readonly string[]): Promise<{ readonly oid: string; readonly name: string }> {
  count += 1;
  const name = `m-${count}@acme.test`;
  const { user } = await service.idp.tenant(tid).persons.create({
    givenName: 'Way',
    familyName: 'In',
    email: name,
    user: { userName: name, status: 'active', externalIdentities: identities.map((idp) => ({ idp, subject: `${name} at ${idp}` })) },
  });
  return { oid: user?.id ?? '', name };
}
const identitiesOf = async (oid: string) =>
  (await service.idp.tenant(tid).users.require(oid)).user.externalIdentities.map(({ idp }) => idp);

async function signIn({ name }: { readonly name: string }, idp: string): Promise<Agent> {
  const agent = new Agent();
  eid.subject = `${name} at ${idp}`;
  const end = await agent.follow(await agent.get(url({ acr_values: `idp:${idp}` })));
  expect(membersOf(end)).toHaveProperty('code');
  return agent;
}
const list = async (agent: Agent): Promise<Answer> => agent.follow(await agent.get(page()));
const removals = ({ body }: Answer): readonly string[] =>
  [...body.matchAll(/name="remove" value="([^"]+)"/g)].map(([, value = '']) => value);
/** Presses the button, and confirms. */
async function remove(agent: Agent, shown: Answer, value: string): Promise<Answer> {
  await agent.post(page(), { ...formOf(shown).fields, remove: value });
  return agent.post(page(), { ...formOf(shown).fields, removed: value });
}

describe('an identity of a sign-in method of an extension', () => {
  test('that is the last way stays, whatever the policy of the tenant names: the method, the provider, or nothing', async () => {
    for (const methods of [['eid', 'password'], ['eid-second', 'password'], undefined]) {
      await service.idp.directory.tenants.update(tid, { signIn: methods === undefined ? null : { methods } });
      const me = await person(['eid-second']);
      const shown = await list(await signIn(me, 'eid-second'));
      expect([methods, removals(shown), shown.body.includes('This is your only way to sign in.')]).toEqual([methods, [], true]);
    }
  });

  test('counts: of two, each can be removed, and the other stays', async () => {
    const me = await person(['eid', 'eid-second']);
    const agent = await signIn(me, 'eid');
    const shown = await list(agent);
    const [first = '', second = ''] = removals(shown);
    await remove(agent, shown, second);
    expect(await identitiesOf(me.oid)).toEqual(['eid']);
    const again = await signIn(me, 'eid');
    expect((await remove(again, await list(again), first)).status).toBe(409);
    expect(await identitiesOf(me.oid)).toEqual(['eid']);
  });

  test('that no method and no connection signs in by now can be removed beside a way, and not alone, also by a posted form', async () => {
    const me = await person(['eid', 'eid-third', 'eid-second']);
    const agent = await signIn(me, 'eid');
    const shown = await list(agent);
    const third = createHash('sha256')
      .update(JSON.stringify(['eid-third', `${me.name} at eid-third`]))
      .digest('base64url');
    expect(removals(shown)).toEqual([expect.any(String), third, expect.any(String)]);
    await remove(agent, shown, third);
    expect(await identitiesOf(me.oid)).toEqual(['eid', 'eid-second']);
    await service.idp.directory.tenants.update(tid, { signIn: { methods: ['eid-second', 'password'] } });
    const ways = await service.idp.directory.waysIn.of((await service.idp.directory.accounts.findByOid(me.oid)) as never);
    expect(ways).toEqual([{ kind: 'identity', id: JSON.stringify(['eid-second', `${me.name} at eid-second`]) }]);
    await service.idp.directory.tenants.update(tid, { signIn: null });

    const other = await person(['eid-second', 'eid-third']);
    const browser = await signIn(other, 'eid-second');
    isSecondServed = false;
    try {
      const page = await list(browser);
      expect([removals(page), page.body.split('Only Acme can remove this.').length - 1]).toEqual([[], 2]);
      const hidden = createHash('sha256')
        .update(JSON.stringify(['eid-third', `${other.name} at eid-third`]))
        .digest('base64url');
      await remove(browser, page, hidden);
      expect(await identitiesOf(other.oid)).toEqual(['eid-second', 'eid-third']);
    } finally {
      isSecondServed = true;
    }
  });
});
