/** a client begins to need PKCE while requests without a challenge are under way. RFC 9700 §2.1.1. */
import { describe, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, basic, postForm, signIn } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { unusualType } from '../../support/requests/both-doors.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const service = useIdp();
const metadata = { redirect_uris: [redirectUri], grant_types: ['authorization_code'] };
const changes = {
  public: { metadata: { ...metadata, token_endpoint_auth_method: 'none' } },
  'requirePkce: true': { requirePkce: true },
  native: { metadata: { redirect_uris: ['com.example:/cb', redirectUri], application_type: 'native' } },
} as const;
let clients = 0;
async function createClient() {
  clients += 1;
  const id = `later-${clients}`;
  await service.idp.directory.clients.create({ id, name: id, secret: `${id}-secret`, metadata, allowedScopes: ['openid'] });
  return id;
}

describe.each(Object.keys(changes) as (keyof typeof changes)[])('a client becomes %s', (name) => {
  const become = (id: string) => service.idp.directory.clients.update(id, changes[name]);

  test.each(['application/x-www-form-urlencoded', unusualType])('its code without a challenge is invalid_grant: %s', async (type) => {
    const id = await createClient();
    const redeemed = async (isChanged: boolean) => {
      const { code = '' } = membersOf(await signIn(new Agent(), authorizeUrl(service.issuer, { client_id: id })));
      if (isChanged) await become(id);
      const isPublic = isChanged && name === 'public';
      const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, ...(isPublic ? { client_id: id } : {}) };
      const headers = { 'content-type': type, ...(isPublic ? {} : { authorization: basic(id, `${id}-secret`) }) };
      return postForm(`${service.issuer}/connect/token`, form, headers);
    };
    expect(await redeemed(false)).toMatchObject({ status: 200 });
    expect(await redeemed(true)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  });

  test('its sign-in that began without a challenge gets no code', async () => {
    const id = await createClient();
    const agent = new Agent();
    const page = await agent.follow(await agent.get(authorizeUrl(service.issuer, { client_id: id })));
    const second = await agent.submit(page, { identifier: 'alice@acme.test' });
    await become(id);
    const end = await agent.follow(await agent.submit(second, { password: 'alice' }));
    expect(membersOf(end)).toMatchObject({ error: 'invalid_request', error_description: expect.stringContaining('code_challenge') });
  });
});
