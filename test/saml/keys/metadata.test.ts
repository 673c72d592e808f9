/** SAML Metadata §2.4.3, §4.1: metadata of the instance and of tenants. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { IdentityProvider } from 'samlify';
import type { SamlOptions } from 'tenant-idp/extensions/saml';
import { describeInstalled } from '../../servers/installed.js';
import { type AdminClient, tenantIds } from '../../support/administration/admin.js';
import { testKeyOf } from '../../support/saml/keys/test-keys.js';
import { schemaPackages, validate } from '../../support/saml/outbound/schemas.js';
import { asAdministrator } from '../../support/saml/service/administration.js';
import { certificatesIn, metadataAt, withSaml } from '../../support/saml/service/published.js';
import { startIdp } from '../../support/service/idp.js';
import { useIdp } from '../../support/service/use-idp.js';
import { until } from '../../support/time/until.js';

const service = useIdp(withSaml());
let operator: AdminClient;
let tid: Readonly<Record<string, string>>;
beforeAll(async () => {
  operator = await asAdministrator(service.issuer, 'root');
  tid = await tenantIds(operator);
});

const at = (path: string, init: RequestInit = {}) => fetch(`${service.issuer}/idp/saml${path}`, init);

/** Reads metadata with samlify. */
function read(metadata: string) {
  const { entityMeta } = IdentityProvider({ metadata });
  return {
    entityId: entityMeta.getEntityID(),
    sso: (['redirect', 'post'] as const).map((binding) => entityMeta.getSingleSignOnService(binding)),
    slo: (['redirect', 'post'] as const).map((binding) => entityMeta.getSingleLogoutService(binding)),
    wantsSigned: entityMeta.isWantAuthnRequestsSigned(),
    nameIdFormats: entityMeta.getNameIDFormat(),
  };
}

const urls = (base: string, wantsSigned = false) => ({
  entityId: `${base}/metadata`,
  sso: [`${base}/sso`, `${base}/sso`],
  slo: [`${base}/slo`, `${base}/slo`],
  wantsSigned,
  nameIdFormats: [
    'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
    'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
    'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
    'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
  ],
});

describe('the instance', () => {
  test('names its endpoints for both bindings, its formats and its key', async () => {
    const metadata = await metadataAt(service.issuer);
    expect(read(metadata)).toEqual(urls(`${service.issuer}/idp/saml`));
    expect(certificatesIn(metadata)).toHaveLength(1);
    expect(metadata).toContain('<md:KeyDescriptor use="signing">');
  });

  test('algsupport: names algorithms, without which Shibboleth signs with SHA-1', async () => {
    const metadata = await metadataAt(service.issuer);
    expect(metadata).toMatch(/<alg:DigestMethod [^>]*Algorithm="http:\/\/www\.w3\.org\/2001\/04\/xmlenc#sha256">/);
    expect(metadata).toMatch(/<alg:SigningMethod [^>]*Algorithm="http:\/\/www\.w3\.org\/2001\/04\/xmldsig-more#rsa-sha256">/);
    expect(metadata).not.toMatch(/sha1/i);
  });

  test('may be kept for a day, and does not end for who got it once', async () => {
    const metadata = await metadataAt(service.issuer);
    expect(metadata).toContain(' cacheDuration="P1D"');
    expect(metadata).not.toContain('validUntil');
  });

  test('SAML Metadata appendix A: its media type, and 304 to who has it', async () => {
    const answer = await at('/metadata');
    const etag = answer.headers.get('etag') ?? '';
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/samlmetadata+xml']);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    const again = await at('/metadata', { headers: { 'If-None-Match': etag, 'Cache-Control': 'max-age=0' } });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect((await at('/metadata', { headers: { 'If-None-Match': '"other"', 'Cache-Control': 'max-age=0' } })).status).toBe(200);
    const head = await at('/metadata', { method: 'HEAD' });
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, '']);
  });
});

describe('a tenant', () => {
  test('is an entity of its own, with the same key', async () => {
    const metadata = await (await at(`/t/${tid.Acme}/metadata`)).text();
    expect(read(metadata)).toEqual(urls(`${service.issuer}/idp/saml/t/${tid.Acme}`));
    expect(certificatesIn(metadata)).toEqual(certificatesIn(await metadataAt(service.issuer)));
  });

  test('that there is not, or is disabled, has none', async () => {
    for (const id of ['unknown', '*', encodeURIComponent('../x')]) expect((await at(`/t/${id}/metadata`)).status).toBe(404);
    const { json: made } = await operator.post('/tenants', { name: 'Short-lived' });
    expect((await at(`/t/${made.id}/metadata`)).status).toBe(200);
    expect((await operator.post(`/tenants/${made.id}/disable`)).status).toBe(200);
    await until(async () => (await at(`/t/${made.id}/metadata`)).status === 404);
  });
});

describe('options', () => {
  async function withOptions(options: SamlOptions, use: (issuer: string) => Promise<void>): Promise<void> {
    const idp = await startIdp(withSaml(options));
    try {
      await use(idp.issuer);
    } finally {
      await idp.close();
    }
  }

  test('an entityID of the operator’s own, for the instance alone', () =>
    withOptions({ entityId: 'urn:example:idp?a=1&b="2"', wantAuthnRequestsSigned: true }, async (issuer) => {
      const base = `${issuer}/idp/saml`;
      expect(read(await metadataAt(issuer))).toEqual({ ...urls(base, true), entityId: 'urn:example:idp?a=1&b="2"' });
      const tenants = await tenantIds(await asAdministrator(issuer, 'root'));
      const ofTenant = await (await fetch(`${base}/t/${tenants.Acme}/metadata`)).text();
      expect(read(ofTenant)).toEqual(urls(`${base}/t/${tenants.Acme}`, true));
    }));

  test('without entities of tenants', () =>
    withOptions({ tenantEntities: false }, async (issuer) => {
      const tenants = await tenantIds(await asAdministrator(issuer, 'root'));
      expect((await fetch(`${issuer}/idp/saml/t/${tenants.Acme}/metadata`)).status).toBe(404);
      expect((await fetch(`${issuer}/idp/saml/metadata`)).status).toBe(200);
    }));

  test('keys of the operator: all are published, the first first', async () => {
    const [one, two] = await Promise.all([testKeyOf('one'), testKeyOf('two')]);
    await withOptions({ keys: [one, two].map(({ key, certificate }) => ({ key, certificate })) }, async (issuer) =>
      expect(certificatesIn(await metadataAt(issuer))).toEqual([one.der, two.der]),
    );
  });
});

test('a service without SAML has no metadata', async () => {
  const plain = await startIdp();
  try {
    expect((await fetch(`${plain.issuer}/idp/saml/metadata`)).status).toBe(404);
  } finally {
    await plain.close();
  }
});

describeInstalled('the schemas of OASIS', schemaPackages, () => {
  test('served metadata validates', async () => {
    validate(await metadataAt(service.issuer));
    validate(await (await at(`/t/${tid.Acme}/metadata`)).text());
  });
});
