/**
 * Option `assertionAudience`: each audience of a client assertion at each endpoint, alone and in a list.
 * @see RFC 9126 §2, CIBA Core §7.1, FAPI 2.0 Security Profile §5.3.2.1
 */
import { beforeAll, expect, test } from '@jest/globals';
import { postForm } from '../../support/client/agent.js';
import { type AssertingClient, createAssertingClient } from '../../support/client/assertions.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const paths = ['', '/connect/token', '/connect/par', '/connect/ciba', '/connect/introspect', '/elsewhere'];
/** Clients, one for each audience, so that no client fails more often than the rate limit allows. */
let clients: readonly AssertingClient[];
beforeAll(async () => {
  clients = await Promise.all(paths.map((_, index) => createAssertingClient(`asserting${index}`)));
});

const request = {
  response_type: 'code',
  response_mode: 'jwt',
  redirect_uri: redirectUri,
  scope: 'openid',
  code_challenge: 'c'.repeat(43),
  code_challenge_method: 'S256',
};
/** Fields that each endpoint gets in addition to the assertion. */
const forms: Readonly<Record<string, Record<string, string>>> = {
  '/connect/token': { grant_type: 'client_credentials' },
  '/connect/par': request,
  '/connect/ciba': { scope: 'openid', login_hint: 'alice@acme.test' },
  '/connect/introspect': { token: 'x' },
};

interface Case {
  readonly assertionAudience: 'issuer' | 'token-endpoint';
  readonly profile?: '1.0 Final' | '2.0';
}
const isAccepted = ({ assertionAudience, profile }: Case, endpoint: string, path: string, isList: boolean): boolean => {
  if (path === '' && !isList) return true;
  if (assertionAudience === 'issuer' || profile === '2.0' || (isList && profile !== '1.0 Final')) return false;
  const isOwn = path === endpoint && ['/connect/par', '/connect/ciba'].includes(path);
  return path === '' || path === '/connect/token' || isOwn;
};

const cases: readonly Case[] = (['issuer', 'token-endpoint'] as const).flatMap((assertionAudience) =>
  [undefined, '1.0 Final' as const, '2.0' as const].map((profile) => ({ assertionAudience, ...(profile && { profile }) })),
);
const services = cases.map(({ assertionAudience, profile }) =>
  useIdp(() => ({
    assertionAudience,
    limits: { signInFailuresPerAddress: 100_000 },
    ...(profile === '1.0 Final' && { features: { fapi: { enabled: true, profile } } }),
    ...(profile === '2.0' && { fapi: profile }),
    seed: {
      ...testSeed,
      clients: [
        ...(profile === '2.0' ? [] : testSeed.clients),
        ...clients.map(({ seed }) => ({
          ...seed,
          metadata: {
            ...seed.metadata,
            grant_types: ['authorization_code', 'client_credentials', 'urn:openid:params:grant-type:ciba'],
            backchannel_token_delivery_mode: 'poll',
          },
        })),
      ],
    } as never,
  })),
);

test.each(cases.map((each, index) => [JSON.stringify(each), each, index] as const))('%s', async (_, each, index) => {
  const { issuer } = services[index] as (typeof services)[number];
  for (const [at, path] of paths.entries())
    for (const [endpoint, fields] of Object.entries(forms))
      for (const isList of [false, true]) {
        const client = clients[at] as AssertingClient;
        const aud = issuer + path;
        const assertion = await client.sign(issuer, { aud: isList ? ['https://else.example', aud] : aud });
        const { status } = await postForm(issuer + endpoint, { ...fields, client_id: client.seed.id, ...assertion });
        // A client that did not authenticate gets 401, even if its request has other mistakes.
        const seen = { endpoint, path, isList, isAccepted: status !== 401 };
        expect(seen).toEqual({ endpoint, path, isList, isAccepted: isAccepted(each, endpoint, path, isList) });
      }
});
