/** Issue 17, 2: metadata that is read from its URL, at registration and when an administrator requests it. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type MadeCertificate, makeCertificate } from '../../support/saml/keys/certificates.js';
import { ofInstance } from '../../support/saml/service-providers/given.js';
import { keyDescriptor, plain } from '../../support/saml/service-providers/metadata.js';
import { nextProvider, useMetadataUrls } from '../../support/saml/service-providers/metadata-urls.js';
import { until } from '../../support/time/until.js';

const { host, documents, root, register, refresh, updatesOf } = useMetadataUrls();
const SLO = '<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://sp.example/slo"/>';
let [first, second]: MadeCertificate[] = [];
beforeAll(async () => {
  [first, second] = await Promise.all([makeCertificate(), makeCertificate()]);
});
const signing = (of: MadeCertificate | undefined) => keyDescriptor(of?.der ?? '');

describe('a service provider with metadataUrl', () => {
  test('is what its metadata says, and again when that says something else', async () => {
    const { at, entityId } = nextProvider();
    documents[at] = plain({ entityId, inside: signing(first) });
    const { status, json } = await register(at);
    expect([status, json.source]).toEqual([201, { url: host.url + at, overridden: [], readAt: expect.any(String), notes: [] }]);
    documents[at] = plain({
      entityId,
      acs: 'https://new.example/acs',
      inside: signing(second) + signing(first) + SLO,
      flags: 'AuthnRequestsSigned="1"',
    });
    const again = await refresh(json.id);
    expect([again.status, again.json]).toMatchObject([
      200,
      {
        id: json.id,
        assertionConsumerServices: [{ url: 'https://new.example/acs', index: 0 }],
        signingCertificates: [second?.der, first?.der],
        singleLogoutServices: [{ binding: 'redirect', url: 'https://sp.example/slo' }],
        requireSignedRequests: true,
      },
    ]);
    await until(async () => (await updatesOf(json.id)) === 1);
    expect((await root()(`${ofInstance}/${json.id}`)).json).toEqual(again.json);
    // Metadata with the same members is no change.
    const third = await refresh(json.id);
    expect(third.json).toEqual({ ...again.json, source: { ...again.json.source, readAt: third.json.source.readAt } });
    expect(await updatesOf(json.id)).toBe(1);
  });

  test('keeps what an administrator gave, until that is given back', async () => {
    const { at, entityId } = nextProvider();
    documents[at] = plain({ entityId, inside: signing(first) });
    const { json } = await register(at, { name: 'Wiki', assertionConsumerServices: [{ url: 'https://given.example/acs' }] });
    expect(json.source.overridden).toEqual(['assertionConsumerServices', 'name']);
    const one = `${ofInstance}/${json.id}`;
    const changed = await root().patch(one, { signingCertificates: [second?.pem], requireMfa: true });
    expect(changed.json.source.overridden).toEqual(['assertionConsumerServices', 'name', 'signingCertificates']);
    documents[at] = plain({ entityId, acs: 'http://ignored.example', inside: keyDescriptor('AAAA'), flags: 'AuthnRequestsSigned="true"' });
    const { json: kept } = await refresh(json.id);
    expect(kept).toMatchObject({
      name: 'Wiki',
      assertionConsumerServices: [{ url: 'https://given.example/acs', index: 0 }],
      signingCertificates: [second?.der],
      requireSignedRequests: true,
      requireMfa: true,
    });
    documents[at] = plain({ entityId, inside: signing(first) });
    expect((await root().patch(one, { overridden: ['name'] })).json).toMatchObject({
      signingCertificates: [second?.der],
      source: { overridden: ['name'] },
    });
    expect((await refresh(json.id)).json).toMatchObject({
      name: 'Wiki',
      assertionConsumerServices: [{ url: 'https://sp.example/acs' }],
      signingCertificates: [first?.der],
      requireSignedRequests: false,
      requireMfa: true,
    });
  });

  test('is encrypted to as an administrator says, whatever its metadata says', async () => {
    const { at, entityId } = nextProvider();
    documents[at] = plain({ entityId, inside: signing(first) + keyDescriptor(first?.der ?? '', 'encryption') });
    const { json } = await register(at);
    expect(json).toMatchObject({ encryption: 'aes256-gcm', encryptionCertificate: first?.der });
    await root().patch(`${ofInstance}/${json.id}`, { encryptionCertificate: second?.pem });
    documents[at] = plain({ entityId, inside: signing(first) });
    expect((await refresh(json.id)).json).toMatchObject({ encryption: 'aes256-gcm', encryptionCertificate: second?.der });
    await root().patch(`${ofInstance}/${json.id}`, { overridden: [] });
    const { json: given } = await refresh(json.id);
    expect([given.encryption, given.encryptionCertificate]).toEqual(['none', undefined]);
  });

  test('is none where there is no document that can be had', async () => {
    const { at, entityId } = nextProvider();
    const tooLarge = plain({ entityId, inside: `<!--${'x'.repeat(512 * 1024)}-->` });
    const refusals: readonly (readonly [string | Buffer | number, string])[] = [
      [404, 'metadata_unavailable'],
      [302, 'metadata_unavailable'],
      [500, 'metadata_unavailable'],
      [tooLarge, 'metadata_unavailable'],
      [Buffer.from(plain({ entityId: 'https://sø.example' }), 'latin1'), 'metadata_invalid'],
      ['', 'metadata_invalid'],
    ];
    for (const [document, code] of refusals) {
      documents[at] = document;
      const { status, json } = await register(at);
      expect([status, json.code, json.errors?.[0]?.pointer]).toEqual([422, code, '/metadataUrl']);
    }
    expect(host.asked).not.toContain('/elsewhere');
    expect((await root().post(ofInstance, { metadataUrl: 'http://127.0.0.1:1/metadata' })).json).toMatchObject({
      code: 'metadata_unavailable',
    });
  });

  test('takes what an administrator uploads once there is no URL, and has no refresh then', async () => {
    const { at, entityId } = nextProvider();
    documents[at] = plain({ entityId, inside: signing(first) });
    const { json } = await register(at);
    const one = `${ofInstance}/${json.id}`;
    const metadata = plain({ entityId, inside: signing(second) });
    expect((await root().patch(one, { metadata })).json.errors[0].pointer).toBe('/metadata');
    const uploaded = await root().patch(one, { metadata, metadataUrl: null });
    expect(uploaded.json).toMatchObject({ signingCertificates: [second?.der], source: { overridden: [] } });
    expect(uploaded.json.source).not.toHaveProperty('url');
    expect((await refresh(json.id)).json).toMatchObject({ status: 422, code: 'metadata_url_missing' });
    expect((await root().patch(one, { metadataUrl: host.url + at })).json).toMatchObject({
      signingCertificates: [first?.der],
      source: { url: host.url + at },
    });
    documents[at] = plain({ entityId: 'https://other.example' });
    expect((await root().patch(one, { metadataUrl: host.url + at })).json).toMatchObject({ code: 'metadata_invalid' });
    const forgotten = await root().patch(one, { metadataUrl: null });
    expect(forgotten.json).toMatchObject({ signingCertificates: [first?.der] });
    expect(forgotten.json.source).not.toHaveProperty('url');
  });

  test('by hand first, keeps its name and its other members are the metadata’s', async () => {
    const { at, entityId } = nextProvider();
    const acs = { assertionConsumerServices: [{ url: 'https://hand.example/acs' }] };
    const { json } = await root().post(ofInstance, { entityId, name: 'By hand', ...acs });
    documents[at] = plain({ entityId });
    expect((await root().patch(`${ofInstance}/${json.id}`, { metadataUrl: host.url + at })).json).toMatchObject({
      name: 'By hand',
      assertionConsumerServices: [{ url: 'https://sp.example/acs' }],
      source: { overridden: ['name'] },
    });
  });
});
