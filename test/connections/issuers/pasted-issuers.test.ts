/** Pasted issuers: with the ending of the discovery document, or with one slash more or less than the provider states. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type AdminClient, administer, adminSeed, adminToken } from '../../support/administration/admin.js';
import { Agent, authorizeUrl, createPkce } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { useDocumentHost } from '../../support/client/receivers/document-host.js';
import { useIdp } from '../../support/service/use-idp.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../../support/sign-in/upstream-provider.js';

let plain: UpstreamProvider;
const service = useIdp(async () => {
  plain = await startUpstream('/realm');
  return { seed: adminSeed as never };
});
let root: AdminClient;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
});
afterAll(() => plain?.close());
const host = useDocumentHost();

const ending = '/.well-known/openid-configuration';
const forms: readonly (readonly [string, () => UpstreamProvider, (issuer: string) => string, boolean])[] = [
  ['the issuer', () => plain, (issuer) => issuer, true],
  ['the address of its discovery document', () => plain, (issuer) => issuer + ending, true],
  ['the same with a slash and spaces', () => plain, (issuer) => ` ${issuer}${ending}/\n`, true],
  ['an issuer with a slash that its provider does not have', () => plain, (issuer) => `${issuer}/`, true],
  ['another issuer', () => plain, (issuer) => `${issuer}/other`, false],
];

test.each(forms)('%s', async (_, provider, form, works) => {
  const { issuer } = provider();
  const made = await root.post('/connections', {
    ...{ name: 'Pasted', issuer: form(issuer), clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET, createUsersIn: 'Globex' },
  });
  const tid = (await root('/tenants?name=Globex')).json.items[0].id;
  const { status, json } =
    made.status === 201
      ? made
      : await root.post('/connections', {
          ...{ name: 'Pasted', issuer: form(issuer), clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET, createUsersIn: tid },
        });
  expect([status, json.issuer?.endsWith('openid-configuration')]).toEqual([201, false]);
  provider().register(service.issuer, [json.id]);
  const email = `${json.id}@names.test`;
  provider().person = { sub: email, email, email_verified: true, given_name: 'P', family_name: 'P' };
  const agent = new Agent();
  const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  const begun = await agent.follow(await agent.get(authorizeUrl(service.issuer, { ...challenge, acr_values: `idp:${json.id}` })));
  if (!works) return expect(begun.status).toBe(400);
  expect(membersOf(await agent.follow(await agent.get(await atUpstream(provider(), begun))))).toHaveProperty('code');
});

test('C03b: an issuer without the slash that its provider has', async () => {
  host.answerBy((request, response) => {
    const { url: issuer } = { url: `${host.url}/tenant/` };
    const body = { issuer, authorization_endpoint: `${issuer}authorize`, token_endpoint: `${issuer}token`, jwks_uri: `${issuer}jwks` };
    if (request.url !== `/tenant${ending}`) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'application/json' }).end(`\ufeff${JSON.stringify(body)}`);
  });
  const fields = { name: 'Slashed', issuer: `${host.url}/tenant`, clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET };
  const { json } = await root.post('/connections', fields);
  const agent = new Agent();
  const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  const begun = await agent.follow(await agent.get(authorizeUrl(service.issuer, { ...challenge, acr_values: `idp:${json.id}` })));
  expect(begun.location).toContain(`${host.url}/tenant/authorize?`);
});
