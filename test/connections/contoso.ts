/**
 * Globex, whose users sign in at Contoso, and at a provider of the instance. The providers are oidc-provider without the library, over
 * HTTP.
 */
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { CompactSign, decodeJwt, decodeProtectedHeader, importJWK } from 'jose';
import { type Agent, type Answer, authorizeUrl, createPkce } from '../support/client/agent.js';
import { testKeys } from '../support/service/keys.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../support/sign-in/upstream-provider.js';

/** Returns an answer of the service without the parts that all pages have. */
export const textOf = ({ body }: Answer) => body.replace(/<style[\s\S]*?<\/style>/g, '');

/** @param clients in addition to those of the seed */
export function useContoso(clients: readonly object[] = []) {
  let contoso: UpstreamProvider;
  let social: UpstreamProvider;
  const service = useIdp(async () => {
    [contoso, social] = await Promise.all([startUpstream(), startUpstream()]);
    const common = { clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET };
    return {
      seed: {
        ...testSeed,
        clients: [...testSeed.clients, ...clients],
        extensions: {
          connections: [
            {
              ...common,
              id: 'contoso',
              tenant: 'Globex',
              name: 'Contoso ID',
              issuer: contoso.issuer,
              createUsersIn: 'Globex',
              domains: ['Contoso.test'],
              linkBySignIn: true,
              mfa: { amr: ['otp'], acr: ['high'] },
              mapping: {
                userName: { claim: 'email' },
                email: { claim: 'email' },
                givenName: { claim: 'given_name' },
                familyName: { claim: 'family_name', update: true },
              },
            },
            {
              ...common,
              id: 'social',
              name: 'Social',
              issuer: social.issuer,
              mfa: { amr: ['otp'], acr: [] },
              renamed: [{ name: 'eid_user_visible_data', as: 'shown_text' }],
            },
          ],
        },
      } as never,
    };
  });

  let globex: string;
  let bob: string;
  beforeAll(async () => {
    contoso.register(service.issuer, ['contoso']);
    social.register(service.issuer, ['social']);
    const { tenants, accounts } = service.idp.directory;
    globex = (await tenants.find()).find(({ name }) => name === 'Globex')?.id ?? '';
    bob = (await accounts.candidates('bob@globex.test'))[0]?.person.user.id ?? '';
    const externalIdentities = ['contoso', 'social'].map((idp) => ({ idp, subject: 'bob-there' }));
    await service.idp.tenant(globex).users.update(bob, { externalIdentities });
  });
  afterAll(() => Promise.all([contoso?.close(), social?.close()]));
  beforeEach(() => {
    for (const upstream of [contoso, social]) {
      upstream.person = { sub: 'bob-there' };
      upstream.age = 0;
      upstream.instead = undefined;
      upstream.asked.length = 0;
    }
  });

  const pkce = createPkce();
  const url = (parameters: Record<string, string> = {}) =>
    authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });
  const open = async (agent: Agent, parameters: Record<string, string> = {}) => agent.follow(await agent.get(url(parameters)));
  /** Signs in at the provider, and follows the answer to the end of the sign-in. */
  async function through(agent: Agent, parameters: Record<string, string>, upstream = contoso): Promise<Answer> {
    const begun = await open(agent, parameters);
    return agent.follow(await agent.get(await atUpstream(upstream, begun)));
  }
  const byContoso = (agent: Agent, more: Record<string, string> = {}) => through(agent, { acr_values: 'idp:contoso', ...more });

  /** Returns an ID token with other claims, signed by the provider's own key, for the token endpoint. */
  function withIdToken(
    change: (claims: Record<string, unknown>) => Record<string, unknown>,
    upstream = contoso,
    encoding: 'utf8' | 'latin1' = 'utf8',
  ): UpstreamProvider['instead'] {
    return (req, res) => {
      if (req.url !== '/token' || req.headers['x-again'] === 'yes') return false;
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of req) chunks.push(chunk as Buffer);
        const headers = { ...(req.headers as Record<string, string>), 'x-again': 'yes' };
        const answer = await fetch(`${upstream.issuer}/token`, { method: 'POST', headers, body: Buffer.concat(chunks) });
        const tokens = (await answer.json()) as { id_token: string };
        const header = decodeProtectedHeader(tokens.id_token) as { alg: string; kid?: string };
        const jwk = testKeys.find(({ kid }) => kid === header.kid) ?? testKeys[0];
        const payload = Buffer.from(JSON.stringify(change(decodeJwt(tokens.id_token))), encoding);
        const signed = await new CompactSign(payload).setProtectedHeader(header).sign(await importJWK(jwk as never, header.alg));
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...tokens, id_token: signed }));
      })();
      return true;
    };
  }

  return {
    service,
    pkce,
    url,
    open,
    through,
    byContoso,
    withIdToken,
    get contoso() {
      return contoso;
    },
    get social() {
      return social;
    },
    /** Ids of Globex, and of its user Bob. */
    get ids() {
      return { globex, bob };
    },
  };
}
