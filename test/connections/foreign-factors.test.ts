/** Threat CON-XT-MFA2: `mfa` from a connection counts in its own tenant alone, in requests and in answers. */
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, type Answer, postForm, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { CIBA_GRANT, cibaClient } from '../support/client/ciba/call-centre.js';
import { credentialsOf, endpointsOf, isActive } from '../support/client/endpoints.js';
import { redeem } from '../support/client/steps.js';
import { enrolOn } from '../support/sign-in/factors.js';
import { useContoso } from './contoso.js';

const at = useContoso([cibaClient('desk')]);
const { service, pkce, open, through } = at;

interface Child {
  readonly tid: string;
  readonly oid: string;
  readonly userName: string;
}
/** Tenants other than Contoso's: one requires a second factor, one does not. */
let strict: Child;
let lax: Child;
beforeAll(async () => {
  const child = async (name: string, requireMfa: boolean): Promise<Child> => {
    const { id: tid } = await service.idp.directory.tenants.create({ name, ...(requireMfa ? { signIn: { requireMfa } } : {}) });
    const userName = `bob@${name}.test`;
    const user = { userName, status: 'active' as const };
    const { user: made } = await service.idp.tenant(tid).persons.create({ givenName: 'Bob', familyName: 'B', user });
    const oid = made?.id ?? '';
    await service.idp.tenant(tid).linking.link(oid, { tid: at.ids.globex, userId: at.ids.bob });
    return { tid, oid, userName };
  };
  [strict, lax] = [await child('strict', true), await child('lax', false)];
});
beforeEach(() => {
  const withFactor = (claims: Record<string, unknown>) => ({ ...claims, amr: ['pwd', 'otp'] });
  at.contoso.instead = at.withIdToken(withFactor);
  at.social.instead = at.withIdToken(withFactor, at.social);
});

const by = async (idp: 'contoso' | 'social', agent: Agent, more = ''): Promise<Answer> =>
  through(agent, { acr_values: `idp:${idp}${more}` }, idp === 'contoso' ? at.contoso : at.social);
const tokensOf = async (response: Answer) =>
  (await redeem(service.issuer, { client: 'web', code: membersOf(response).code ?? '', verifier: pkce.verifier })).json;
const claimsOf = async (response: Answer) => decodeJwt((await tokensOf(response)).id_token) as { readonly amr: readonly string[] };
/** Switches to the linked account. @param acrValues of the request, in addition to the tenant */
async function switchTo(agent: Agent, { tid, oid }: Pick<Child, 'tid' | 'oid'>, acrValues = ''): Promise<Answer> {
  const page = await open(agent, { scope: 'openid offline_access', acr_values: `tenant:${tid} ${acrValues}`.trim() });
  return agent.follow(await agent.submit(page, { choice: oid }));
}
const ask = async (child: Child, acrValues?: string) => {
  const fields = { scope: 'openid', login_hint: child.userName, ...(acrValues === undefined ? {} : { acr_values: acrValues }) };
  const { json } = await postForm(`${service.issuer}/connect/ciba`, fields, credentialsOf('desk'));
  const [request] = await service.idp.ciba.pendingOf(child.oid);
  const page = `${service.issuer}/idp/ciba/requests/${request?.id}`;
  const poll = async () =>
    (await postForm(`${service.issuer}/connect/token`, { grant_type: CIBA_GRANT, auth_req_id: json.auth_req_id }, credentialsOf('desk')))
      .json;
  return { page, poll };
};
const FACTOR = 'Set up a second factor';

describe('CON-XT-MFA2: the connection of another tenant says `mfa`', () => {
  test('in its own tenant it counts', async () => {
    expect((await claimsOf(await by('contoso', new Agent(), ' mfa'))).amr).toEqual(['external', 'mfa']);
  });

  test('requireMfa of the tenant of a linked account asks for a factor of the service', async () => {
    const agent = new Agent();
    await by('contoso', agent);
    expect(titleOf(await switchTo(agent, strict))).toBe(FACTOR);
    const silent = await agent.get(at.url({ prompt: 'none', acr_values: `tenant:${strict.tid}` }));
    expect(membersOf(silent)).toMatchObject({ error: 'interaction_required' });
    const account = await agent.follow(await agent.get(`${service.issuer}/idp/account`));
    expect(account.body).not.toContain(strict.userName);
  });

  test('`mfa` in acr_values of an application asks for one, too; without it, `amr` and `acr` of the account have no mfa', async () => {
    const agent = new Agent();
    await by('contoso', agent);
    expect(await claimsOf(await switchTo(agent, lax))).toMatchObject({ oid: lax.oid, amr: ['external'] });
    expect(titleOf(await open(agent, { acr_values: `tenant:${lax.tid} mfa` }))).toBe(FACTOR);
    const back = await switchTo(agent, { tid: at.ids.globex, oid: at.ids.bob }, 'mfa');
    expect(await claimsOf(back)).toMatchObject({ tid: at.ids.globex, amr: expect.arrayContaining(['external', 'mfa']), acr: 'mfa' });
  });

  test('a sign-in that changes to the linked account before it is complete has no mfa', async () => {
    const before = new Agent();
    await by('contoso', before);
    const { id_token: hint } = await tokensOf(await switchTo(before, lax));
    const agent = new Agent();
    const chooser = await through(agent, { acr_values: 'idp:contoso', id_token_hint: hint });
    const response = await agent.follow(await agent.submit(chooser, { choice: lax.oid }));
    expect(await claimsOf(response)).toMatchObject({ oid: lax.oid, amr: ['external'] });
  });

  test('tokens of the linked account do not work while its tenant requires mfa, and tokens of the connection’s tenant work', async () => {
    const agent = new Agent();
    await by('contoso', agent);
    const [ofChild, ofParent] = [
      await tokensOf(await switchTo(agent, lax)),
      await tokensOf(await switchTo(agent, { tid: at.ids.globex, oid: at.ids.bob })),
    ];
    const endpoints = endpointsOf(service.issuer);
    const { tenants } = service.idp.directory;
    for (const tid of [lax.tid, at.ids.globex]) await tenants.update(tid, { signIn: { requireMfa: true } });
    try {
      const uses = async ({ access_token: access, refresh_token: refresh }: typeof ofChild) => [
        await isActive(endpoints, access),
        (await endpoints.userinfo(access)).status,
        (await endpoints.refresh(refresh)).status,
      ];
      expect([await uses(ofChild), await uses(ofParent)]).toEqual([
        [false, 401, 400],
        [true, 200, 200],
      ]);
    } finally {
      for (const tid of [lax.tid, at.ids.globex]) await tenants.update(tid, { signIn: {} });
    }
  });

  test('an approval of a CIBA request that asks for mfa, or whose tenant does, takes a factor', async () => {
    for (const [child, acrValues] of [
      [lax, 'mfa'],
      [strict, undefined],
    ] as const) {
      const agent = new Agent();
      await by('contoso', agent);
      await switchTo(agent, child);
      const { page, poll } = await ask(child, acrValues);
      const shown = await agent.follow(await agent.get(page));
      if (titleOf(shown) !== FACTOR) await agent.follow(await agent.submit(shown, { decision: 'approve' }));
      expect(await poll()).toMatchObject({ error: 'authorization_pending' });
    }
  });
});

test('a connection of the instance counts in every tenant', async () => {
  const agent = new Agent();
  await by('social', agent);
  expect(await claimsOf(await switchTo(agent, strict))).toMatchObject({ oid: strict.oid, amr: ['external', 'mfa'] });
});

// From here on Bob has a second factor.
test('a factor of the service counts in every tenant, in addition to the connection of another', async () => {
  const agent = new Agent();
  await by('contoso', agent);
  const { response } = await enrolOn(agent, await switchTo(agent, strict));
  const amr = expect.arrayContaining(['external', 'mfa']);
  expect(await claimsOf(response)).toMatchObject({ oid: strict.oid, amr });
  expect(await claimsOf(await switchTo(agent, lax, 'mfa'))).toMatchObject({ oid: lax.oid, amr });
});
