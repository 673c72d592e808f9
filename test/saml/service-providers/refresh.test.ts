/** Issue 17, 2: metadata that is read from its URL: at registration, daily, and when an administrator says so. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Extension } from 'tenant-idp/extension';
import { saml } from 'tenant-idp/extensions/saml';
import { serviceProviders } from '../../../extensions/saml/service-providers/records.js';
import type { AdminClient } from '../../support/administration/admin.js';
import type { Json } from '../../support/client/agent.js';
import { useDocumentHost } from '../../support/client/document-host.js';
import { type MadeCertificate, makeCertificate } from '../../support/saml/keys/certificates.js';
import { asAdministrator, samlOptions, useSaml } from '../../support/saml/service/administration.js';
import { keyDescriptor, plain } from '../../support/saml/service-providers/metadata.js';
import { startIdp } from '../../support/service/idp.js';
import { until } from '../../support/time/until.js';

const host = useDocumentHost();
const service = useSaml(() => ({ extensions: [saml()] }));
const path = '/saml-service-providers';
const SLO = '<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://sp.example/slo"/>';
let root: AdminClient;
let [first, second, over]: MadeCertificate[] = [];
beforeAll(async () => {
  root = await asAdministrator(service.issuer, 'root');
  [first, second, over] = await Promise.all([makeCertificate(), makeCertificate(), makeCertificate(2048, true)]);
});

/** What the host answers, by path. */
let documents: Record<string, string | Buffer | number> = {};
beforeEach(() => {
  documents = {};
  host.answerBy((request, response) => {
    const document = documents[request.url ?? ''] ?? 404;
    if (typeof document === 'number') response.writeHead(document, { location: '/elsewhere' }).end();
    else response.writeHead(200, { 'content-type': 'application/samlmetadata+xml' }).end(document);
  });
});

let made = 0;
const next = () => {
  made += 1;
  return { at: `/sp${made}`, entityId: `https://sp${made}.example` };
};
const signing = (of: MadeCertificate | undefined) => keyDescriptor(of?.der ?? '');
const register = (at: string, more: object = {}) => root.post(path, { metadataUrl: host.url + at, ...more });
const refresh = (id: string) => root.post(`${path}/${id}/refresh`);
const problemsOf = async (id: string) =>
  (await service.idp.health()).problems.filter((problem) => problem.id === id).map(({ code }) => code);
const updatesOf = async (id: string) =>
  (await service.idp.directory.eventFeed.read({ types: ['ServiceProviderUpdated'] })).events.filter(({ subject }) => subject === id).length;

describe('a service provider with metadataUrl', () => {
  test('is what its metadata says, and again when that says something else', async () => {
    const { at, entityId } = next();
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
    expect((await root(`${path}/${json.id}`)).json).toEqual(again.json);
    // What says the same again is no change.
    const third = await refresh(json.id);
    expect(third.json).toEqual({ ...again.json, source: { ...again.json.source, readAt: third.json.source.readAt } });
    expect(await updatesOf(json.id)).toBe(1);
  });

  test('keeps what an administrator gave, until that is given back', async () => {
    const { at, entityId } = next();
    documents[at] = plain({ entityId, inside: signing(first) });
    const { json } = await register(at, { name: 'Wiki', assertionConsumerServices: [{ url: 'https://given.example/acs' }] });
    expect(json.source.overridden).toEqual(['assertionConsumerServices', 'name']);
    const one = `${path}/${json.id}`;
    const changed = await root.patch(one, { signingCertificates: [second?.pem], requireMfa: true });
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
    expect((await root.patch(one, { overridden: ['name'] })).json).toMatchObject({
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
    const { at, entityId } = next();
    documents[at] = plain({ entityId, inside: signing(first) + keyDescriptor(first?.der ?? '', 'encryption') });
    const { json } = await register(at);
    expect(json).toMatchObject({ encryption: 'aes256-gcm', encryptionCertificate: first?.der });
    await root.patch(`${path}/${json.id}`, { encryptionCertificate: second?.pem });
    documents[at] = plain({ entityId, inside: signing(first) });
    expect((await refresh(json.id)).json).toMatchObject({ encryption: 'aes256-gcm', encryptionCertificate: second?.der });
    await root.patch(`${path}/${json.id}`, { overridden: [] });
    const { json: given } = await refresh(json.id);
    expect([given.encryption, given.encryptionCertificate]).toEqual(['none', undefined]);
  });

  test('is none where there is no document that can be had', async () => {
    const { at, entityId } = next();
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
    expect((await root.post(path, { metadataUrl: 'http://127.0.0.1:1/metadata' })).json).toMatchObject({ code: 'metadata_unavailable' });
  });

  test('takes what an administrator uploads once there is no URL, and has no refresh then', async () => {
    const { at, entityId } = next();
    documents[at] = plain({ entityId, inside: signing(first) });
    const { json } = await register(at);
    const one = `${path}/${json.id}`;
    const metadata = plain({ entityId, inside: signing(second) });
    expect((await root.patch(one, { metadata })).json.errors[0].pointer).toBe('/metadata');
    const uploaded = await root.patch(one, { metadata, metadataUrl: null });
    expect(uploaded.json).toMatchObject({ signingCertificates: [second?.der], source: { overridden: [] } });
    expect(uploaded.json.source).not.toHaveProperty('url');
    expect((await refresh(json.id)).json).toMatchObject({ status: 422, code: 'metadata_url_missing' });
    expect((await root.patch(one, { metadataUrl: host.url + at })).json).toMatchObject({
      signingCertificates: [first?.der],
      source: { url: host.url + at },
    });
    documents[at] = plain({ entityId: 'https://other.example' });
    expect((await root.patch(one, { metadataUrl: host.url + at })).json).toMatchObject({ code: 'metadata_invalid' });
    const forgotten = await root.patch(one, { metadataUrl: null });
    expect(forgotten.json).toMatchObject({ signingCertificates: [first?.der] });
    expect(forgotten.json.source).not.toHaveProperty('url');
  });

  test('by hand first, keeps its name and its other members are the metadata’s', async () => {
    const { at, entityId } = next();
    const acs = { assertionConsumerServices: [{ url: 'https://hand.example/acs' }] };
    const { json } = await root.post(path, { entityId, name: 'By hand', ...acs });
    documents[at] = plain({ entityId });
    expect((await root.patch(`${path}/${json.id}`, { metadataUrl: host.url + at })).json).toMatchObject({
      name: 'By hand',
      assertionConsumerServices: [{ url: 'https://sp.example/acs' }],
      source: { overridden: ['name'] },
    });
  });
});

describe('metadata that cannot be used any more leaves what stands, is recorded, and is among the problems of the service:', () => {
  test.each<[string, (entityId: string) => string | number, RegExp]>([
    ['a URL that answers 500', () => 500, /^metadata_unavailable: .*500/],
    ['another entityID', () => plain({ entityId: 'https://evil.example', inside: signing(first) }), /^metadata_invalid: .*entityID/],
    ['no ACS', (entityId) => plain({ entityId, inside: signing(first) }).replace(/<md:Assertion[^>]*>/, ''), /AssertionConsumerService/],
    ['an http ACS', (entityId) => plain({ entityId, acs: 'http://sp.example', inside: signing(first) }), /https/],
    ['the last certificate gone', (entityId) => plain({ entityId }), /KeyDescriptor for signing/],
    [
      'a document that is over',
      (entityId) => plain({ entityId, inside: signing(first), around: 'validUntil="2020-01-01T00:00:00Z"' }),
      /validUntil/,
    ],
    ['a page', () => '<html/>', /EntityDescriptor/],
  ])('%s', async (_, document, problem) => {
    const { at, entityId } = next();
    documents[at] = plain({ entityId, inside: signing(first) });
    const { json } = await register(at);
    documents[at] = document(entityId);
    const { status, json: refusal } = await refresh(json.id);
    expect([status, refusal.errors[0].pointer]).toEqual([422, '/metadataUrl']);
    const { json: after } = await root(`${path}/${json.id}`);
    expect(after).toEqual({
      ...json,
      source: { ...json.source, problem: expect.stringMatching(problem), failingSince: expect.any(String) },
    });
    expect(await problemsOf(json.id)).toEqual(['saml_metadata_failing']);
    await refresh(json.id);
    expect((await root(`${path}/${json.id}`)).json.source.failingSince).toBe(after.source.failingSince);

    documents[at] = plain({ entityId, inside: signing(first) });
    const { json: mended } = await refresh(json.id);
    expect([mended.source.problem, mended.source.failingSince, await problemsOf(json.id)]).toEqual([undefined, undefined, []]);
    expect(await updatesOf(json.id)).toBe(0);
  });

  test('until it is disabled', async () => {
    const { at, entityId } = next();
    documents[at] = plain({ entityId });
    const { json } = await register(at);
    documents[at] = 500;
    await refresh(json.id);
    expect(await problemsOf(json.id)).toEqual(['saml_metadata_failing']);
    await root.patch(`${path}/${json.id}`, { status: 'disabled' });
    expect(await problemsOf(json.id)).toEqual([]);
  });
});

describe('what runs out is a problem of the service, and people go on signing in:', () => {
  test('the last of the signing certificates, and the one for encryption', async () => {
    const by = async (more: object) => {
      const acs = { assertionConsumerServices: [{ url: 'https://sp.example/acs' }] };
      const { status, json } = await root.post(path, { entityId: next().entityId, ...acs, ...more });
      return [status, await problemsOf(json.id)];
    };
    expect(await by({ signingCertificates: [over?.pem, first?.pem] })).toEqual([201, []]);
    expect(await by({ signingCertificates: [over?.pem] })).toEqual([201, ['saml_certificate_over']]);
    expect(await by({ signingCertificates: [first?.pem], encryptionCertificate: over?.pem })).toEqual([201, ['saml_certificate_over']]);
  });

  test('its metadata', async () => {
    const { entityId } = next();
    const soon = new Date(Date.now() + 1000).toISOString();
    const { status, json } = await root.post(path, { metadata: plain({ entityId, around: `validUntil="${soon}"` }) });
    expect([status, json.source.validUntil]).toEqual([201, soon]);
    await until(async () => (await problemsOf(json.id)).length > 0);
    expect(await problemsOf(json.id)).toEqual(['saml_metadata_over']);
    expect((await root(`${path}/${json.id}`)).json).toEqual(json);
  });
});

test('metadata that is due is read anew by a job, each after the other’s failure too', async () => {
  const [artifacts, directory] = [memoryArtifacts(), memoryDirectory()];
  const options = { ...samlOptions, artifacts, directory };
  const ids: string[] = [];
  /** Makes all of them due. */
  const due: Extension = {
    name: 'due',
    async start({ collection, collectionOfAllTenants, ofInstance }) {
      for (const { id } of await collectionOfAllTenants(serviceProviders).list())
        await collection(serviceProviders, ofInstance).update(id, (row) => ({ ...row, refreshAt: new Date(0) }));
    },
  };
  const begun = await startIdp({ ...options, extensions: [saml()] });
  const all = Array.from({ length: 10 }, next);
  for (const { at, entityId } of all) documents[at] = plain({ entityId });
  const administrator = await asAdministrator(begun.issuer, 'root');
  for (const { at } of all) ids.push((await administrator.post(path, { metadataUrl: host.url + at })).json.id);
  await begun.close();

  for (const [index, { at, entityId }] of all.entries())
    documents[at] = index % 2 === 0 ? plain({ entityId, acs: 'https://new.example/acs' }) : 503;
  // Whoever asked for all of them at once would be seen to.
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const document = documents[request.url ?? ''] ?? 404;
    setTimeout(() => (typeof document === 'number' ? response.writeHead(document).end() : response.end(document)), 50);
  };
  host.answerBy(answer);
  const later = await startIdp({ ...options, extensions: [saml(), due] });
  try {
    const client = await asAdministrator(later.issuer, 'root');
    const read = async (): Promise<readonly Json[]> =>
      (await Promise.all(ids.map((id) => client(`${path}/${id}`)))).map(({ json }) => json);
    const rows = await until(read, (found) =>
      found.every(({ source, assertionConsumerServices: [acs] }) => source.problem !== undefined || acs.url === 'https://new.example/acs'),
    );
    expect(rows.map(({ source }) => source.problem !== undefined)).toEqual(all.map((_, index) => index % 2 === 1));
    expect(host.mostUnderWay).toBeLessThanOrEqual(4);
  } finally {
    await later.close();
  }
});
