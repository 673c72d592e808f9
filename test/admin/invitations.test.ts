/** service specification 4.12, 1 and Events 2: POST Person with an invitation. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type AdminClient, administer, adminSeed, adminToken, tenantIds } from '../support/administration/admin.js';
import { captureMail, personalTenant } from '../support/administration/invitations.js';
import type { Json } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { until } from '../support/time/until.js';

const captured = captureMail();
const seed = { ...adminSeed, tenants: [...adminSeed.tenants, { id: personalTenant, name: 'Personal' }] };
const mailing = useIdp({ seed, mail: captured.mail, personalTenant });
const silent = useIdp({ seed: adminSeed });

let count = 0;
const invited = (more: Json = {}): Json => {
  count += 1;
  return {
    givenName: 'Ida',
    familyName: 'Inns',
    email: `ida${count}@acme.test`,
    user: { userName: `ida${count}` },
    invitation: { send: true },
    ...more,
  };
};
async function administrator(issuer: string): Promise<{ readonly client: AdminClient; readonly at: string }> {
  const root = administer(issuer, await adminToken(issuer, 'root'));
  return { client: root, at: `/tenants/${(await tenantIds(root)).Acme}` };
}
let client: AdminClient;
let at: string;
beforeAll(async () => {
  ({ client, at } = await administrator(mailing.issuer));
});
const eventsOf = (subject: string): Promise<Json[]> =>
  until(
    async () => {
      const { events } = (await mailing.idp.directory.eventFeed.read({ limit: 1000 })) as Json;
      return (events ?? []).filter((event: Json) => event.subject === subject);
    },
    ({ length }) => length > 0,
  );

describe('POST Person with a flag that sends an invitation', () => {
  test('makes person, user and invitation in one call, and sends the mail', async () => {
    const person = invited({ invitation: { send: true, clientId: 'web', locale: 'nb' } });
    const { status, json } = await client.post(`${at}/persons`, person);
    expect([status, json.user.status, json.invitation.status]).toEqual([201, 'invited', 'pending']);
    expect(new Date(json.invitation.expiresAt).getTime() - Date.now()).toBeGreaterThan(86_000_000);
    expect((await captured.to(person.email)).to).toBe(person.email);
    expect((await client(`${at}/invitations/${json.invitation.id}`)).json).toMatchObject({
      personId: json.id,
      userId: json.user.id,
      clientId: 'web',
    });
  });

  test('an invitation link can be fetched instead of e-mailed', async () => {
    const { json } = await client.post(`${at}/persons`, invited({ invitation: { send: false } }));
    expect((await client(`${at}/invitations/${json.invitation.id}/link`)).json.url).toMatch(/^http/);
  });

  test.each([
    ['without a user', { user: undefined }, 422, 'user_required'],
    ['to send, without an address', { email: undefined }, 422, 'email_required'],
    ['for a client that there is not', { invitation: { send: true, clientId: 'nobody' } }, 422, 'client_unknown'],
    ['with a user name that is taken', { user: { userName: 'alice@acme.test' } }, 409, 'user_name_taken'],
  ])('writes nothing %s', async (_, more, status, code) => {
    const before = (await client(`${at}/persons?limit=200`)).text;
    const answer = await client.post(`${at}/persons`, invited(more));
    expect([answer.status, answer.json.code]).toEqual([status, code]);
    expect((await client(`${at}/persons?limit=200`)).text).toBe(before);
  });

  test('without mail it can be fetched alone, and `link` needs personalTenant', async () => {
    const { client: other, at: there } = await administrator(silent.issuer);
    expect((await other.post(`${there}/persons`, invited())).json.code).toBe('mail_not_configured');
    expect((await other.post(`${there}/persons`, invited({ invitation: { send: false, link: true } }))).json.code).toBe(
      'personal_tenant_missing',
    );
    expect((await other.post(`${there}/persons`, invited({ invitation: { send: false } }))).status).toBe(201);
    expect((await other(`${there}/persons?name=ida`)).json.items.length).toBe(1);
  });

  test('clientId and link come with the invitation only', async () => {
    for (const member of ['clientId', 'link', 'send'])
      expect((await client.post(`${at}/persons`, { ...invited(), [member]: true })).json.errors[0].pointer).toBe(`/${member}`);
  });

  test('an Idempotency-Key yields the same ids and the same answer, also at once', async () => {
    const body = invited();
    const answers = await Promise.all(Array.from({ length: 4 }, () => client.post(`${at}/persons`, body, { 'idempotency-key': 'ida' })));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(201);
    const other = await client.post(`${at}/persons`, invited(), { 'idempotency-key': 'ida' });
    expect(other.json.code).toBe('idempotency_conflict');
  });

  test('events name the client of the API and its request', async () => {
    const { json, headers } = await client.post(`${at}/persons`, invited());
    const [created] = await eventsOf(json.id);
    expect(created).toMatchObject({ type: 'PersonCreated', actor: 'client:root' });
    expect([typeof created.requestid, headers.get('x-request-id')]).toEqual(['string', created.requestid]);
  });
});
