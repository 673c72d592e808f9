/**
 * T3-CHAIN-CROWD2: an administrator of three tenants cannot shut out a user of a fourth, because the field “Organisation” finds the
 * account.
 */
import { beforeAll, expect, test } from '@jest/globals';
import {
  type AdminClient,
  adminClient,
  administer,
  adminScopes,
  adminSeed,
  adminToken,
  tenantIds,
} from '../support/administration/admin.js';
import { captureMail } from '../support/administration/invitations.js';
import { Agent, authorizeUrl, createPkce, formOf } from '../support/client/agent.js';
import { responseOf } from '../support/client/steps.js';
import { useIdp } from '../support/service/use-idp.js';
import { passwordPage, pressForgotten } from '../support/sign-in/passwords.js';

const NAME = 'vic@initech.test';
const mine = ['First', 'Second', 'Third'];
const captured = captureMail();
const vic = { givenName: 'Vic', familyName: 'Tim', email: NAME, user: { userName: NAME, devPassword: 'right' } };
const service = useIdp({
  mail: captured.mail,
  seed: {
    ...adminSeed,
    tenants: [...adminSeed.tenants, { name: 'Initech AS', persons: [vic] }, ...mine.map((name) => ({ name }))],
    clients: [...adminSeed.clients, adminClient('crowd', mine, adminScopes)],
  } as never,
});
let crowd: AdminClient;
let tids: readonly string[];

beforeAll(async () => {
  const all = await tenantIds(administer(service.issuer, await adminToken(service.issuer, 'root')));
  tids = mine.map((name) => all[name] ?? '');
  crowd = administer(service.issuer, await adminToken(service.issuer, 'crowd'));
  for (const [index, tid] of tids.entries()) {
    // The caller chooses a person's id, and accounts of a name are read in the order of these ids.
    const id = `00000000-0000-7000-8000-00000000000${index}`;
    const made = await crowd.post(`/tenants/${tid}/persons`, { id, givenName: 'V', familyName: 'T', user: { userName: NAME } });
    expect(made.status).toBe(201);
    await service.idp.tenant(tid).users.activate(made.json.user.id);
    await service.idp.directory.credentials.seedPassword(made.json.user.id, 'the crowd’s');
  }
});

/** Whether the password signs in, with the given organisation. */
async function signsIn(organisation: string | undefined, password: string): Promise<boolean> {
  const agent = new Agent();
  const url = authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
  const page = await agent.follow(await agent.get(url));
  const form = formOf(await agent.submit(page, { identifier: NAME }));
  const fields = { ...form.fields, identifier: NAME, password, ...(organisation !== undefined && { organisation }) };
  const answer = await agent.follow(await agent.post(form.action, fields));
  return responseOf(answer).has('code');
}

test('three accounts of the name come first, until the organisation is named', async () => {
  expect([await signsIn(undefined, 'right'), await signsIn('initech as', 'right')]).toEqual([false, true]);
});

test.each(['Initech AS', 'INITECH A.S.', '  ＩＮＩＴＥＣＨ  as'])('no other tenant calls itself %j', async (name) => {
  for (const tid of tids) {
    const { status, json } = await crowd.patch(`/tenants/${tid}`, { name });
    expect([status, json.code, json.errors]).toEqual([409, 'tenant_name_taken', [{ pointer: '/name' }]]);
  }
});

test('no tenant has an invisible letter in its name', async () => {
  const { status, json } = await crowd.patch(`/tenants/${tids[0]}`, { name: 'Ini\u00adtech AS' });
  expect([status, json.code]).toEqual([422, 'invalid_record']);
});

test('numbers and subsidiaries of that name come after the tenant of the name', async () => {
  for (const tid of tids) {
    expect((await crowd.patch(`/tenants/${tid}`, { organisationNumber: 'Initech AS' })).status).toBe(200);
    const { json: subsidiary } = await crowd.post(`/tenants/${tid}/subsidiaries`, { name: 'Initech AS' });
    const { json: users } = await crowd(`/tenants/${tid}/users`);
    await crowd.patch(`/tenants/${tid}/persons/${users.items[0].personId}`, { subsidiaryId: subsidiary.id });
  }
  expect(await signsIn('Initech AS', 'right')).toBe(true);
  expect(await signsIn('First', 'the crowd’s')).toBe(true);
});

test('“Forgotten password?” mails the account of the organisation that is named, which the password page passes on', async () => {
  const found = await service.idp.directory.accounts.candidates(NAME);
  expect(found.map(({ tenant }) => tenant.name).sort()).toEqual([...mine].sort());
  const agent = new Agent();
  const page = await passwordPage(service.issuer, agent, NAME);
  const failed = await agent.submit(page, { identifier: NAME, password: 'wrong', organisation: 'Initech AS' });
  const asked = await pressForgotten(agent, failed);
  expect(formOf(asked).fields).toMatchObject({ identifier: NAME, organisation: 'Initech AS' });
  const empty = await agent.submit(asked, { identifier: '', organisation: ' initech as ' });
  expect([empty.status, formOf(empty).fields.organisation]).toEqual([400, 'initech as']);
  expect((await agent.submit(empty, { identifier: NAME })).status).toBe(200);
  expect((await captured.to(NAME)).text).toContain('Initech AS');
});
