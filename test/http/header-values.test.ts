/** T3-MD-LOGO: a value of a record, an option or another service adds nothing to a header except itself. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { challenge, policySource } from '../../lib/http/header-values.js';
import { pageHeaders } from '../../lib/http/pages/security-headers.js';
import type { Row } from '../../lib/store/directory-store.js';
import { type AdminClient, administer, adminSeed, adminToken, tenantIds } from '../support/administration/admin.js';
import { Agent, authorizeUrl } from '../support/client/agent.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

/** Characters that end a value in some header. The tests put them where a URL or a text can have them. */
const breakers = [';', ',', "'", '"', '\\', ' ', '*', '\r\n', '\t', '\u0000', '\u00e9', '(', '&', '$', '`', '!'];
const hostileUrls = breakers.flatMap((text) => [
  `https://a${text}sandbox${text}b/x.png`,
  `https://a.example/x${text}sandbox${text}y.png`,
  `https://a.example:444/${text}script-src *${text}`,
]);

const directives = new Set(['default-src', 'style-src', 'script-src', 'img-src', 'frame-src', 'base-uri', 'frame-ancestors']);
/** Returns the directives by name. @see Content Security Policy Level 3 §2.2.1: a comma begins another policy. */
function policyOf(header: string): Record<string, string[]> {
  const parts = header.split(/[;,]/).map((part) => part.trim().split(/\s+/));
  return Object.fromEntries(parts.map(([name = '', ...sources]) => [name, sources]));
}
const source = /^(?:'self'|'none'|'sha256-[\w+/=]+'|https?:\/\/[a-z0-9.:_[\]-]+(?:\/[^\s;,']*)?)$/;

describe('Content-Security-Policy', () => {
  test.each(hostileUrls)('has at most the source of %j', (url) => {
    const header = pageHeaders('https://login.example.com', { styles: ["'sha256-x'"], images: [url], frames: [url] });
    const policy = policyOf(header['Content-Security-Policy'] as string);
    expect(Object.keys(policy).filter((name) => !directives.has(name))).toEqual([]);
    expect(
      Object.values(policy)
        .flat()
        .filter((each) => !source.test(each)),
    ).toEqual([]);
    expect([...(policy['img-src'] ?? []), ...(policy['frame-src'] ?? [])].length).toBeLessThanOrEqual(2);
  });

  test('names a host of letters beyond ASCII however often it is asked', () => {
    const sources = Array.from({ length: 10_000 }, () => policySource('https://b\u00fccher.example/x', 'origin'));
    expect(new Set(sources)).toEqual(new Set(['https://xn--bcher-kva.example']));
  });

  test('names the origin, or the path as browsers compare it', () => {
    expect(policySource('https://A.example/x;y.png?z', 'path')).toBe('https://a.example/x%3By.png');
    expect(policySource('https://b\u00fccher.example:8443/x', 'origin')).toBe('https://xn--bcher-kva.example:8443');
    expect(policySource('https://[2606:4700::1]/x', 'origin')).toBe('https://[2606:4700::1]');
    expect(policySource('/logo.svg', 'path')).toBe("'self'");
    expect(policySource('no address', 'path')).toBeUndefined();
  });
});

test.each(breakers)('a challenge has %j as a part of its value', (text) => {
  const header = challenge('Bearer', { realm: `https://a.example/x${text}y`, scope: 'a b' });
  expect(header).toMatch(/^Bearer realm="(?:[^"\\]|\\["\\])*", scope="a b"$/);
  expect(header).toMatch(/^[ -~]*$/);
});

describe('stored values on their way into headers', () => {
  const directory = memoryDirectory();
  const service = useIdp({ directory, seed: adminSeed, keys: { encryption: ['what the keys are encrypted with in this test'] } });
  const bad = ['https://a;sandbox;b/x.png', 'https://a,b/x.png', "https://a'b/x.png"];
  let root: AdminClient;
  let tid: string;
  beforeAll(async () => {
    root = administer(service.issuer, await adminToken(service.issuer, 'root'));
    tid = (await tenantIds(root)).Acme ?? '';
  });
  const page = async () => {
    const agent = new Agent();
    return agent.follow(await agent.get(authorizeUrl(service.issuer, { acr_values: `tenant:${tid}`, nonce: 'n' })));
  };
  /** Members whose value a header contains, by path, in the form of the record. */
  const members = [
    ['tenants', (image: string | null) => ({ branding: { logoUri: image } })],
    ['tenants', (image: string | null) => ({ branding: { faviconUri: image } })],
    ['clients', (image: string | null) => ({ styles: { logoUri: image } })],
    ['clients', (image: string | null) => ({ styles: { faviconUri: image } })],
    ['clients', (image: string | null) => ({ metadata: { redirect_uris: [redirectUri], logo_uri: image } })],
  ] as const;
  const idIn = (name: 'tenants' | 'clients') => (name === 'tenants' ? tid : 'web');

  test.each(members)('T3-MD-LOGO: of %s: an image whose host is none is refused when it is written: %s', async (name, body) => {
    for (const image of bad) expect((await root.patch(`/${name}/${idIn(name)}`, body(image))).status).toBe(422);
    for (const image of ['https://cdn.example/x;y,z.png', null])
      expect((await root.patch(`/${name}/${idIn(name)}`, body(image))).status).toBe(200);
  });

  test.each(members)('T3-MD-LOGO: of %s: a stored one writes no directive, and another member can be changed: %s', async (name, body) => {
    const rows = directory.collection<Row>(name);
    for (const image of bad) {
      await rows.update(idIn(name), (row) => ({ ...row, ...body(image) }));
      const { status } = await root.patch(`/${name}/${idIn(name)}`, { name: `Named anew ${image.length}` });
      expect(status).toBe(200);
      const { headers, status: shown, location } = await page();
      expect([shown, location]).toEqual([200, undefined]);
      const policy = policyOf(headers.get('content-security-policy') ?? '');
      expect(Object.keys(policy).filter((each) => !directives.has(each))).toEqual([]);
      expect(policy['img-src'] ?? []).toEqual([]);
    }
    expect((await root.patch(`/${name}/${idIn(name)}`, body('https://cdn.example/x;y.png'))).status).toBe(200);
    const { headers } = await page();
    expect(headers.get('content-security-policy')).toContain('img-src https://cdn.example/x%3By.png; ');
    expect((await root.patch(`/${name}/${idIn(name)}`, body(null))).status).toBe(200);
  });

  test('a redirect URI with `;` and `,` is one Location, to the letter', async () => {
    const uri = "http://127.0.0.1:9/callback;a,b'c";
    expect(await root.patch('/clients/web', { metadata: { redirect_uris: [uri] } })).toMatchObject({ status: 200 });
    const { location } = await new Agent().get(authorizeUrl(service.issuer, { redirect_uri: uri, prompt: 'none', nonce: 'n' }));
    expect(location?.split('?')[0]).toBe(uri);
  });
});
