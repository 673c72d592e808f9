/** House §2: additions of a host to oidc-provider act on every request, in every spelling. After the start, nothing can be added. */
import { describe, expect, test } from '@jest/globals';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { authorizationOf } from '../../support/client/steps.js';
import { useIdp } from '../../support/service/use-idp.js';

/** Headers of one request, in spellings with the same meaning. */
const spellings: readonly Readonly<Record<string, string>>[] = [
  { 'content-type': 'application/x-www-form-urlencoded' },
  { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' },
  { 'content-type': 'application/x-www-form-urlencoded; charset="utf-8"' },
  { 'content-type': 'APPLICATION/X-WWW-FORM-URLENCODED', accept: 'text/html' },
];

describe('onProvider', () => {
  const seen: string[] = [];
  const succeeded: string[] = [];
  const service = useIdp({
    onProvider(provider) {
      provider.use(async (ctx, next) => {
        seen.push(ctx.path);
        await next();
      });
      provider.registerGrantType('client_credentials', (ctx) => {
        ctx.body = { of: 'the host' };
      });
      provider.on('grant.success', ({ oidc }: KoaContextWithOIDC) => void succeeded.push(String(oidc.params?.grant_type)));
    },
  });
  const post = (path: string, headers: Readonly<Record<string, string>>, body: string) =>
    fetch(service.issuer + path, { method: 'POST', headers: { ...headers, ...authorizationOf('service') }, body });

  test.each(spellings)('a grant type, a listener and middleware of the host answer %j', async (headers) => {
    succeeded.length = 0;
    const answer = await post('/connect/token', headers, 'grant_type=client_credentials');
    expect([answer.status, await answer.json()]).toEqual([200, { of: 'the host' }]);
    expect(succeeded).toEqual(['client_credentials']);
    expect(seen.at(-1)).toBe('/connect/token');
  });

  test.each(spellings)('introspection, revocation and userinfo go through middleware of the host: %j', async (headers) => {
    for (const path of ['/connect/introspect', '/connect/revocation']) {
      await post(path, headers, 'token=unknown');
      expect(seen.at(-1)).toBe(path);
    }
    await fetch(`${service.issuer}/connect/userinfo`, { headers: { authorization: 'Bearer unknown' } });
    expect(seen.at(-1)).toBe('/connect/userinfo');
  });
});

describe('after the start', () => {
  const service = useIdp();

  test.each(['use', 'on', 'once', 'addListener', 'registerGrantType', 'registerResponseMode'])(
    '%s is refused, and names onProvider',
    (method) => {
      const provider = service.idp.provider as unknown as Record<string, (...args: unknown[]) => void>;
      expect(() => provider[method]?.('grant.success', () => {})).toThrow(
        expect.objectContaining({ code: 'provider_started', message: expect.stringContaining('onProvider') }),
      );
    },
  );
});
