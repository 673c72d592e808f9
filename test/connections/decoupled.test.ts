/** Service specification 4.2, 4.10: parameters of a CIBA request reach the provider of a national e-ID, which is a connection. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, titleOf } from '../support/client/agent.js';
import { callsTo, cibaClient, useCallCentre, withClients } from '../support/client/ciba/call-centre.js';
import type { testSeed } from '../support/service/seed.js';
import { submit } from '../support/sign-in/factors.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../support/sign-in/upstream-provider.js';
import { backToPresent } from '../support/time/clock.js';

let provider: UpstreamProvider;
const ids = ['eid', 'broker'];
const service = useCallCentre(async () => {
  provider = await startUpstream();
  const connection = { clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET, issuer: provider.issuer };
  const renamed = [{ name: 'eid_call_initiator', as: 'started_by' }];
  const connections = [
    { ...connection, id: 'eid', name: 'The e-ID' },
    { ...connection, id: 'broker', name: 'The broker', renamed },
  ];
  return { seed: { ...(withClients(cibaClient('desk')) as typeof testSeed), extensions: { connections } } as never };
});
const calls = () => callsTo(service);
const bob = 'bob@globex.test';

beforeAll(async () => {
  provider.register(service.issuer, ids);
  provider.person = { sub: 'bob-there' };
  const { oid, tid } = await calls().accountOf(bob);
  await service.idp.tenant(tid).users.update(oid, { externalIdentities: ids.map((idp) => ({ idp, subject: 'bob-there' })) });
});
afterAll(() => provider?.close());
beforeEach(() => {
  provider.asked.length = 0;
});
afterEach(backToPresent);

/**
 * Opens the request as Bob, signs in at the provider and approves. Returns the parameters at the provider, and the claims of the client's
 * tokens.
 */
async function approvedAt(idp: string, fields: Record<string, string>) {
  const { json } = await calls().ask({ login_hint: bob, acr_values: `idp:${idp}`, ...fields });
  const { id } = await calls().newestOf(bob);
  const agent = new Agent();
  const begun = await agent.follow(await agent.get(`${service.issuer}/idp/ciba/requests/${id}`));
  const page = await agent.follow(await agent.get(await atUpstream(provider, begun)));
  expect(titleOf(await submit(agent, page, { decision: 'approve' }))).toBe('You approved this');
  const tokens = await calls().poll(json.auth_req_id);
  return { asked: Object.fromEntries(provider.asked[0] ?? []), claims: decodeJwt(tokens.json.id_token) };
}

test('4.10 eid_call_initiator, binding_message and its format reach the provider unchanged', async () => {
  const message = '# Betal **900** kr\n- til Ærlig & Sønn, 100 % 😀';
  const fields = { binding_message: message, eid_user_visible_data_format: 'simpleMarkdownV1', eid_call_initiator: 'RP' };
  const { asked, claims } = await approvedAt('eid', fields);
  expect(asked).toMatchObject({
    eid_user_visible_data: message,
    eid_user_visible_data_format: 'simpleMarkdownV1',
    eid_call_initiator: 'RP',
  });
  expect(claims).toMatchObject({ idp: 'eid', amr: ['external'] });
});

test('4.10 eid_call_initiator is user by default', async () => {
  expect((await approvedAt('eid', {})).asked).toMatchObject({ eid_call_initiator: 'user' });
});

test('4.2 a connection may rename eid_call_initiator', async () => {
  const { asked } = await approvedAt('broker', { eid_call_initiator: 'RP' });
  expect(asked).toMatchObject({ started_by: 'RP' });
  expect(asked).not.toHaveProperty('eid_call_initiator');
});
