/**
 * XT-PREHIJACK, XT-BLOCK: the administrator of any tenant records identities of a connection of the instance. The record opens the account
 * if the sign-in is restricted to that tenant, or after the person acknowledges the account. The record never prevents a new account.
 */
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { MailMessage } from 'tenant-idp';
import { documented } from '../../support/administration/admin.js';
import { Agent, formOf, postForm, titleOf } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { CIBA_GRANT } from '../../support/client/ciba/call-centre.js';
import { credentialsOf } from '../../support/client/endpoints.js';
import { redirectUri } from '../../support/service/seed.js';
import { until } from '../../support/time/until.js';
import { CHOICE, CLAIMS, codeOf, useNewcomers } from './newcomers.js';

const {
  accountOf,
  admins,
  back,
  by,
  captured,
  choose,
  claimed,
  nameOf,
  newcomer,
  none,
  open,
  recordOf,
  service,
  signedIn,
  silent,
  tid,
  upstream,
  user,
} = useNewcomers();

describe('a newcomer, for whom another tenant’s administrator recorded the identity', () => {
  test('XT-PREHIJACK: does not land there, and gets an account where newcomers do', async () => {
    const sub = newcomer();
    const oid = await claimed('Globex', sub);
    const agent = new Agent();
    const page = await by(agent);
    expect(titleOf(page)).toBe(CLAIMS);
    expect(page.body.replaceAll('<wbr>', '')).toContain(await nameOf(oid));
    expect(await silent(agent)).toMatchObject({ error: 'login_required' });
    const made = await signedIn(await none(agent, page));
    expect([made, made === oid]).toEqual([await accountOf(sub, 'Acme'), false]);
    // From now on the person has an account of their own, and the claim is a choice.
    const later = new Agent();
    const choice = await by(later);
    expect([titleOf(choice), choice.body.includes('Globex entered Inst as your way to sign in')]).toEqual([CHOICE, true]);
    expect(await signedIn(await choose(later, choice, String(made)))).toBe(made);
  });

  test.each(['tenant: of the request', 'the client'])('XT-BLOCK: is asked nothing where %s is of another tenant', async (how) => {
    const sub = newcomer();
    await claimed('Globex', sub);
    const narrowed = how === 'the client' ? 'acme-web' : 'web';
    if (how === 'the client')
      await service.idp.directory.clients
        .create({
          id: narrowed,
          name: 'Acme web',
          secret: 'acme-web-secret-of-thirty-two-characters',
          metadata: { redirect_uris: [redirectUri], grant_types: ['authorization_code'] },
          allowedScopes: ['openid'],
          allowedTenants: [tid.Acme ?? ''],
        })
        .catch(() => undefined);
    const answer = await by(new Agent(), narrowed, how === 'the client' ? undefined : 'Acme');
    expect(membersOf(answer)).toHaveProperty('code');
    expect(await accountOf(sub, 'Acme')).toEqual(expect.any(String));
  });

  test('two tenants’ administrators recorded the same identity: the person sees both, and says which is theirs', async () => {
    const sub = newcomer();
    const [inGlobex, inAcme] = [await claimed('Globex', sub), await claimed('Acme', sub)];
    const agent = new Agent();
    const page = await by(agent);
    expect([titleOf(page), page.body.includes(inGlobex), page.body.includes(inAcme)]).toEqual([CLAIMS, true, true]);
    expect(await signedIn(await choose(agent, page, inAcme))).toBe(inAcme);
    expect(titleOf(await by(new Agent()))).toBe(CHOICE);
  });

  test('a user who is invited is not activated by a claim before the person says that the account is theirs', async () => {
    const sub = newcomer();
    const oid = await claimed('Globex', sub, 'invited');
    const statusOf = async () => (await service.idp.tenant(tid.Globex ?? '').users.require(oid)).user.status;
    const agent = new Agent();
    const page = await by(agent);
    expect([titleOf(page), await statusOf()]).toEqual([CLAIMS, 'invited']);
    expect([await signedIn(await choose(agent, page, oid)), await statusOf()]).toEqual([oid, 'active']);
  });

  test('a claim keeps nobody from connecting an account of their own', async () => {
    const sub = newcomer();
    const [claim, own] = [await claimed('Globex', sub), await user('Acme')];
    // A new account would have the user name of the account that the person has.
    upstream().person = { ...upstream().person, sub, email: await nameOf(own) };
    const agent = new Agent();
    const refused = await none(agent, await by(agent));
    const fields = formOf(refused).fields;
    expect(fields).toHaveProperty('stranger');
    const page = await agent.follow(await agent.submit(refused, { step: 'link' }));
    const password = await agent.submit(page, { identifier: await nameOf(own) });
    const confirm = await agent.follow(await agent.submit(password, { password: 'password' }));
    expect(titleOf(confirm)).toBe('Connect these accounts?');
    expect(await signedIn(await agent.follow(await agent.submit(confirm, {})))).toBe(own);
    expect((await recordOf('Acme', own))[0]).toMatchObject({ vouchedBy: { by: 'person' } });
    expect((await recordOf('Globex', claim))[0]).toMatchObject({ vouchedBy: { by: 'tenant' } });
  });
});

describe('a sign-in that is held to the tenant', () => {
  test.each([
    ['by its client', 'globex-web', undefined],
    ['by tenant: of the request', 'web', 'Globex'],
  ])('%s opens the account, and answers no other request', async (_, client, tenant) => {
    const sub = newcomer();
    const oid = await claimed('Globex', sub);
    const agent = new Agent();
    const answer = await by(agent, client, tenant);
    expect(membersOf(answer)).toHaveProperty('code');
    const held = { acr_values: `tenant:${tid.Globex}` };
    expect(await silent(agent, 'globex-web')).toHaveProperty('code');
    expect(await silent(agent, 'web', held)).toHaveProperty('code');
    expect(await silent(agent)).toMatchObject({ error: 'login_required' });
    expect(await silent(agent, 'web', { acr_values: `tenant:${tid.Acme}` })).toMatchObject({ error: 'login_required' });
    expect((await recordOf('Globex', oid))[0]).not.toHaveProperty('isAcknowledged');
    // On a page the person acknowledges the account, and the sign-in answers every request from then on.
    const page = await by(agent);
    expect(titleOf(page)).toBe(CLAIMS);
    const { person } = (await service.idp.directory.accounts.findByOid(oid)) ?? {};
    await service.idp.tenant(tid.Globex ?? '').persons.update(person?.id ?? '', { email: `${sub}@mail.test` });
    const confirmed: unknown[] = [];
    service.idp.events.on('UserIdentityConfirmed', ({ data }) => void confirmed.push(data));
    expect(await signedIn(await choose(agent, page, oid))).toBe(oid);
    const { text } = await until(
      () => captured.mails.findLast(({ subject }) => subject === 'A way to sign in was confirmed') as MailMessage,
    );
    expect([text.includes('Globex'), text.includes(sub), confirmed]).toEqual([true, false, [{ AggregateId: oid, Idp: 'inst' }]]);
    captured.mails.length = 0;
    expect(await silent(agent)).toHaveProperty('code');
    expect(await silent(agent, 'globex-web')).toHaveProperty('code');
  });

  test('opens no linked account elsewhere, by the chooser or by the request', async () => {
    const sub = newcomer();
    const oid = await claimed('Globex', sub);
    const child = await user('Acme');
    await service.idp.tenant(tid.Acme ?? '').linking.link(child, { tid: tid.Globex ?? '', userId: oid });
    const agent = new Agent();
    expect(membersOf(await by(agent, 'globex-web'))).toHaveProperty('code');
    for (const parameters of [{ acr_values: `tenant:${tid.Acme}` }, { prompt: 'select_account' }, {}]) {
      const page = await open(agent, 'web', parameters as never);
      expect([parameters, page.body.includes(`value="${child}"`), codeOf(page)]).toEqual([parameters, false, null]);
    }
    // The person acknowledges the parent account, and continues as the child account.
    const elsewhere = new Agent();
    const page = await by(elsewhere, 'web', 'Acme');
    expect(titleOf(page)).toBe(CLAIMS);
    expect(membersOf(await choose(elsewhere, page, child))).toHaveProperty('code');
    expect((await recordOf('Globex', oid))[0]).toMatchObject({ isAcknowledged: true });
  });

  test('approves a request of CIBA, which names the account, and so the tenant', async () => {
    const sub = newcomer();
    const oid = await claimed('Globex', sub);
    const fields = { scope: 'openid', login_hint: await nameOf(oid), acr_values: 'idp:inst' };
    const { json } = await postForm(`${service.issuer}/connect/ciba`, fields, credentialsOf('desk'));
    const [request] = await service.idp.ciba.pendingOf(oid);
    const agent = new Agent();
    const page = await back(agent, await agent.follow(await agent.get(`${service.issuer}/idp/ciba/requests/${request?.id}`)));
    expect(titleOf(await agent.follow(await agent.submit(page, { decision: 'approve' })))).toBe('You approved this');
    const grant = { grant_type: CIBA_GRANT, auth_req_id: json.auth_req_id };
    const { json: tokens } = await postForm(`${service.issuer}/connect/token`, grant, credentialsOf('desk'));
    expect(decodeJwt(tokens.id_token)).toMatchObject({ sub: oid, idp: 'inst' });
    // The browser is signed in for that tenant alone.
    expect(await silent(agent)).toMatchObject({ error: 'login_required' });
  });
});

describe('a person who says that the account is theirs', () => {
  test('says so once; the record vouches for no more than before', async () => {
    const sub = newcomer();
    const oid = await claimed('Globex', sub);
    const agent = new Agent();
    const page = await by(agent);
    const { action, fields } = formOf(page);
    const [, choice = ''] = new RegExp(`value="(${oid} [^"]+)"`).exec(page.body) ?? [];
    // Another browser cannot acknowledge the account, and a form without its token cannot.
    for (const wrong of [
      { ...fields, choice, csrf: 'x' },
      { ...fields, choice: choice.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')) },
    ])
      expect(codeOf(await agent.follow(await agent.post(action, wrong)))).toBeNull();
    expect(codeOf(await new Agent().post(action, { ...fields, choice }))).toBeNull();
    expect((await recordOf('Globex', oid))[0]).not.toHaveProperty('isAcknowledged');
    // The same page, posted twice.
    const first = await agent.post(action, { ...fields, choice });
    const second = await agent.post(action, { ...fields, choice });
    expect(await signedIn(await agent.follow(first))).toBe(oid);
    expect(second.status).toBeLessThan(500);
    expect((await recordOf('Globex', oid))[0]).toMatchObject({ isAcknowledged: true, vouchedBy: { by: 'tenant', tids: [tid.Globex] } });
    expect(await signedIn(await by(new Agent()))).toBe(oid);
    // A change of other members, and the same identity again, keep the acknowledgement.
    const body = { externalIdentities: [{ idp: 'inst', subject: sub }], userName: `renamed-${oid}` };
    expect((await admins.globex?.patch(`/tenants/${tid.Globex}/users/${oid}`, body))?.status).toBe(200);
    expect(await signedIn(await by(new Agent()))).toBe(oid);
  });

  test('two tabs of one browser say it, each of its own sign-in', async () => {
    const sub = newcomer();
    const oid = await claimed('Globex', sub);
    const agent = new Agent();
    const pages = [await by(agent), await by(agent)];
    for (const page of pages) expect(await signedIn(await choose(agent, page, oid))).toBe(oid);
  });

  test('an identity that was removed since the page opens nothing', async () => {
    const sub = newcomer();
    const oid = await claimed('Globex', sub);
    const agent = new Agent();
    const page = await by(agent);
    await admins.globex?.patch(`/tenants/${tid.Globex}/users/${oid}`, { externalIdentities: [] });
    expect(codeOf(await choose(agent, page, oid))).toBeNull();
    expect(await recordOf('Globex', oid)).toEqual([]);
  });
});

describe('each operation that records identities, by a tenant’s administrator', () => {
  const body = (subject: string) => ({ userName: `door-${subject}`, externalIdentities: [{ idp: 'inst', subject }] });
  const doors: Readonly<Record<string, (subject: string) => Promise<unknown>>> = {
    'POST /tenants/{tid}/persons': async (subject) =>
      admins.globex?.post(`/tenants/${tid.Globex}/persons`, { givenName: 'D', familyName: 'D', user: body(subject) }),
    async 'POST /tenants/{tid}/persons/{id}/user'(subject) {
      const made = await admins.globex?.post(`/tenants/${tid.Globex}/persons`, { givenName: 'D', familyName: 'D' });
      return admins.globex?.post(`/tenants/${tid.Globex}/persons/${made?.json.id}/user`, body(subject));
    },
    'PATCH /tenants/{tid}/users/{id}': async (subject) =>
      admins.globex?.patch(`/tenants/${tid.Globex}/users/${await user('Globex')}`, body(subject)),
  };

  test('is tried', async () => {
    const { operations, document } = await documented(service.issuer);
    const resolved = (schema: unknown): string =>
      JSON.stringify(schema).replace(/"#\/components\/schemas\/(\w+)"/g, (_, name) => resolved(document.components.schemas[name]));
    const taking = operations.filter(
      ({ operation }) => operation.requestBody && resolved(operation.requestBody).includes('"externalIdentities"'),
    );
    expect(taking.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(Object.keys(doors).toSorted());
  });

  test.each(Object.entries(doors))('%s makes a claim', async (_, door) => {
    const sub = newcomer();
    await door(sub);
    const agent = new Agent();
    const page = await by(agent);
    expect(titleOf(page)).toBe(CLAIMS);
    expect(await signedIn(await none(agent, page))).toBe(await accountOf(sub, 'Acme'));
  });
});

describe('an identity that counts for all', () => {
  test('is recorded by a client of all tenants, and by the host in process', async () => {
    for (const how of ['root', 'host']) {
      const sub = newcomer();
      const oid = await user('Globex');
      const externalIdentities = [{ idp: 'inst', subject: sub }];
      if (how === 'root')
        expect((await admins.root?.patch(`/tenants/${tid.Globex}/users/${oid}`, { externalIdentities }))?.status).toBe(200);
      else await service.idp.tenant(tid.Globex ?? '').users.update(oid, { externalIdentities });
      expect([how, await signedIn(await by(new Agent()))]).toEqual([how, oid]);
    }
  });

  test('is one of a tenant’s administrator once it was removed, and recorded anew by a client of all tenants', async () => {
    const sub = newcomer();
    const oid = await claimed('Globex', sub);
    for (const externalIdentities of [[], [{ idp: 'inst', subject: sub }]])
      expect((await admins.root?.patch(`/tenants/${tid.Globex}/users/${oid}`, { externalIdentities }))?.status).toBe(200);
    expect(await recordOf('Globex', oid)).toEqual([{ idp: 'inst', subject: sub, vouchedBy: { by: 'operator' } }]);
    expect(await signedIn(await by(new Agent()))).toBe(oid);
  });
});
