/** Discovery documents with an invalid part: the rest is used if no sign-in needs the part, and the administrator gets a warning. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type AdminClient, administer, adminSeed, adminToken } from '../../support/administration/admin.js';
import type { Json } from '../../support/client/agent.js';
import { Agent, authorizeUrl, createPkce, titleOf } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { useIdp } from '../../support/service/use-idp.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../../support/sign-in/upstream-provider.js';
import { until } from '../../support/time/until.js';

const optional = ['userinfo_endpoint', 'end_session_endpoint', 'pushed_authorization_request_endpoint'];
const required = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'];
const wrong: readonly unknown[] = ['http://provider.example/x', 'no URL', 5, ['https://a.test'], 'javascript:alert(1)', ''];

let document: Json = {};
let upstream: UpstreamProvider;
let theirs: Json = {};
const service = useIdp(async () => {
  upstream = await startUpstream('', { conformIdTokenClaims: false });
  return { seed: adminSeed as never };
});
let root: AdminClient;
let tid = '';
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  tid = (await root('/tenants?name=Globex')).json.items[0].id;
  upstream.register(service.issuer, ['first']);
  theirs = (await (await fetch(`${upstream.issuer}/.well-known/openid-configuration`)).json()) as Json;
  upstream.instead = (req, res) => {
    if (req.url !== '/.well-known/openid-configuration') return false;
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
    return true;
  };
});
afterAll(() => upstream?.close());

let count = 0;
/** Signs in a new person by a new connection whose provider publishes these members. */
async function signIn(members: Json) {
  document = { ...theirs, ...members };
  const id = `provider-${count++}`;
  const fields = { name: 'Provider', issuer: upstream.issuer, clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET, createUsersIn: tid };
  expect((await root.post('/connections', { id, ...fields })).status).toBe(201);
  upstream.register(service.issuer, [id]);
  upstream.person = { sub: id, email: `${id}@names.test`, email_verified: true, given_name: 'P', family_name: 'P' };
  const agent = new Agent();
  const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  const begun = await agent.follow(await agent.get(authorizeUrl(service.issuer, { ...pkce, acr_values: `idp:${id}` })));
  const ended = begun.location?.startsWith(upstream.issuer)
    ? await agent.follow(await agent.get(await atUpstream(upstream, begun)))
    : begun;
  return { id, ended };
}
const lineOf = (id: string, start: string) =>
  service.lines.findLast(({ message, fields }) => message.startsWith(start) && fields.connection === id);
const path = (id: string) => `/connections/${id}`;

describe.each(optional)('a wrong %s is left out, with a warning in the log and in the answers of the admin API', (name) => {
  test.each(wrong.map((value) => [value] as const))('%j', async (value) => {
    const { id, ended } = await signIn({ [name]: value });
    expect(membersOf(ended)).toHaveProperty('code');
    const warnings = [{ path: `/${name}`, reason: 'It is left out, because it is not an https URL.' }];
    expect(lineOf(id, 'the service ignored invalid parts of the discovery document')?.fields).toMatchObject({ warnings });
    expect((await root(path(id))).json).toMatchObject({ id, warnings });
  });
});

test('the warnings end when the provider corrects its document, and a change by an administrator keeps them', async () => {
  const { id } = await signIn({ userinfo_endpoint: 'http://provider.example/x' });
  expect((await root.patch(path(id), { name: 'Renamed' })).json).toMatchObject({ name: 'Renamed', warnings: [{}] });
  document = theirs;
  expect((await root.patch(path(id), { name: 'Again' })).status).toBe(200);
  const answer = await until(
    async () => {
      const agent = new Agent();
      await agent.follow(await agent.get(authorizeUrl(service.issuer, { acr_values: `idp:${id}`, nonce: 'n' })));
      return (await root(path(id))).json;
    },
    ({ warnings }) => warnings === undefined,
  );
  expect(answer).toMatchObject({ id, name: 'Again' });
});

describe.each(required)('a wrong %s is refused, and the log says which it is', (name) => {
  test.each([undefined, ...wrong].map((value) => [value] as const))('%j', async (value) => {
    const { id, ended } = await signIn({ [name]: value });
    expect([ended.status, titleOf(ended)]).toEqual([400, expect.any(String)]);
    expect(lineOf(id, 'a sign-in by a connection could not begin')?.fields.reason).toContain(`has no https URL as ${name}`);
  });
});

test('a pushed authorization request that the provider requires needs its address', async () => {
  const { id } = await signIn({
    require_pushed_authorization_requests: true,
    pushed_authorization_request_endpoint: 'http://provider.example/x',
  });
  expect(lineOf(id, 'a sign-in by a connection could not begin')?.fields.reason).toContain(
    'has no https URL as pushed_authorization_request_endpoint',
  );
});
