/** Service specification 4.12 “Administrative APIs manage … invitations”; threats H1, H2: invitations over HTTP. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { type AdminClient, adminClient, administer, adminSeed, adminToken, tenantIds } from '../support/administration/admin.js';
import { captureMail, linkIn } from '../support/administration/invitations.js';
import { recordedEvents } from '../support/administration/recorded-events.js';
import { Agent, type Json } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { until } from '../support/time/until.js';

const scopes = ['idp.persons:write', 'idp.tenants:read', 'idp.invitations:read', 'idp.invitations:write'];
const captured = captureMail();
const directory = memoryDirectory();
const service = useIdp({
  directory,
  mail: captured.mail,
  seed: {
    ...adminSeed,
    clients: [
      ...adminSeed.clients,
      adminClient('inviter', ['*'], scopes),
      adminClient('of-globex', ['Globex'], scopes),
      adminClient('of-acme', ['Acme'], scopes),
    ],
  },
});
let root: AdminClient;
let globex: AdminClient;
let acme: AdminClient;
let at: string;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'inviter', scopes.join(' ')));
  globex = administer(service.issuer, await adminToken(service.issuer, 'of-globex', scopes.join(' ')));
  acme = administer(service.issuer, await adminToken(service.issuer, 'of-acme', scopes.join(' ')));
  const { json } = await root('/tenants?limit=200');
  at = `/tenants/${json.items.find(({ name }: Json) => name === 'Acme').id}`;
});

let count = 0;
async function guest(): Promise<Json> {
  count += 1;
  const email = `guest${count}@acme.test`;
  const { status, json } = await root.post(`${at}/persons`, { givenName: 'Gina', familyName: 'Guest', email, user: { userName: email } });
  expect(status).toBe(201);
  return { ...json, email };
}

describe('4.12 invitations by the admin API', () => {
  test('invite, read, list, resend, revoke', async () => {
    const person = await guest();
    const made = await root.post(`${at}/invitations`, { userId: person.user.id, send: true, locale: 'nb' });
    expect([made.status, made.headers.get('location')]).toEqual([201, `${root.base}${at}/invitations/${made.json.id}`]);
    expect(made.json).toMatchObject({
      personId: person.id,
      userId: person.user.id,
      status: 'pending',
      send: true,
      link: false,
      locale: 'nb',
    });
    expect((await root(`${at}/invitations/${made.json.id}`)).json).toEqual(made.json);
    expect((await root(`${at}/invitations?userId=${person.user.id}&status=pending`)).json).toEqual({ items: [made.json] });
    const first = linkIn(await captured.to(person.email));
    expect((await root.post(`${at}/invitations/${made.json.id}/resend`)).json.status).toBe('pending');
    expect((await new Agent().get(first)).status).toBe(410);
    const revoked = await root.post(`${at}/invitations/${made.json.id}/revoke`);
    expect([revoked.status, revoked.json.status]).toEqual([200, 'revoked']);
    expect((await root.post(`${at}/invitations/${made.json.id}/resend`)).json.code).toBe('invitation_over');
  });

  test('an invitation link can be fetched through the API instead of being e-mailed, which is told as an event', async () => {
    const person = await guest();
    const { json } = await root.post(`${at}/invitations`, { userId: person.user.id, send: false });
    const links = [await root(`${at}/invitations/${json.id}/link`), await root(`${at}/invitations/${json.id}/link`)];
    expect(links.map(({ status }) => status)).toEqual([200, 200]);
    expect(links[0]?.json).toEqual(links[1]?.json);
    expect((await new Agent().get(links[0]?.json.url)).status).toBe(200);
    const fetched = (await recordedEvents(directory, 'InvitationLinkFetched')).filter(({ subject }) => subject === json.id);
    expect(fetched.map(({ actor }) => actor)).toEqual(['client:inviter', 'client:inviter']);
  });

  test('fetching needs idp.invitations:write', async () => {
    const person = await guest();
    const { json } = await root.post(`${at}/invitations`, { userId: person.user.id, send: false });
    const reader = administer(service.issuer, await adminToken(service.issuer, 'inviter', 'idp.invitations:read'));
    expect((await reader(`${at}/invitations/${json.id}`)).status).toBe(200);
    expect((await reader(`${at}/invitations/${json.id}/link`)).json.code).toBe('insufficient_scope');
  });

  test('H1 to another tenant’s administrator there is no such invitation, to the byte', async () => {
    const person = await guest();
    const { json } = await root.post(`${at}/invitations`, { userId: person.user.id, send: false });
    const own = `/tenants/${(await tenantIds(globex)).Globex}/invitations`;
    const nobody = '01890a5d-ac96-774b-bcce-b302099a8057';
    for (const [method, rest] of [
      ['GET', ''],
      ['GET', '/link'],
      ['POST', '/resend'],
      ['POST', '/revoke'],
    ] as const) {
      const answers = await Promise.all([
        globex(`${own}/${json.id}${rest}`, { method }),
        globex(`${own}/${nobody}${rest}`, { method }),
        globex(`${at}/invitations/${json.id}${rest}`, { method }),
      ]);
      expect(answers.map(({ status, text }) => [status, text])).toEqual(answers.map(() => [404, answers[1]?.text]));
    }
    const foreign = await globex.post(own, { userId: person.user.id, send: false });
    const absent = await globex.post(own, { userId: nobody, send: false });
    expect([foreign.status, foreign.text]).toEqual([404, absent.text]);
  });

  test('H4, H5 nobody gets hold of an account that may do more than they may', async () => {
    const made = await guest();
    const group = (await service.idp.tenant(at.slice(9)).groups.findByName('Administrators'))?.id as string;
    await service.idp.tenant(at.slice(9)).users.setGroups(made.user.id, { ids: [group] });
    const { json } = await root.post(`${at}/invitations`, { userId: made.user.id, send: false });
    expect((await root(`${at}/invitations/${json.id}/link`)).status).toBe(200);
    const answers = [
      await acme(`${at}/invitations/${json.id}/link`),
      await acme.post(`${at}/invitations/${json.id}/resend`),
      await acme.post(`${at}/invitations`, { userId: made.user.id, send: true }),
      await root.post(`${at}/invitations`, { userId: made.user.id, send: false, link: true }),
    ];
    expect(answers.map((answer) => [answer.status, answer.json.code])).toEqual(answers.map(() => [403, 'invitee_privileged']));
  });

  test('H2 unknown members and values of another form are refused', async () => {
    const { user } = await guest();
    for (const body of [
      { userId: user.id },
      { userId: user.id, send: 'yes' },
      { userId: user.id, send: true, to: 'evil@test' },
      { userId: user.id, send: true, returnTo: 'https://evil.test' },
      { userId: { $ne: null }, send: true },
    ])
      expect((await root.post(`${at}/invitations`, body)).status).toBe(422);
  });

  test('an Idempotency-Key yields the same invitation and sends one mail', async () => {
    const person = await guest();
    const body = { userId: person.user.id, send: true };
    const answers = [1, 2, 3].map(() => root.post(`${at}/invitations`, body, { 'idempotency-key': `key-${person.id}` }));
    const ids = new Set((await Promise.all(answers)).flatMap(({ json }) => json.id ?? []));
    expect(ids.size).toBe(1);
    await captured.to(person.email);
    expect((await root(`${at}/invitations?userId=${person.user.id}`)).json.items).toHaveLength(1);
    await until(async () => (await directory.collection('deliveries').find({})).length === 0);
    expect(captured.mails.filter(({ to }) => to === person.email)).toHaveLength(1);
  });
});
