/** Issue 17, 2: metadata that becomes unusable or expires. The registration stays, and health reports the problem. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type MadeCertificate, makeCertificate } from '../../support/saml/keys/certificates.js';
import { ofInstance } from '../../support/saml/service-providers/given.js';
import { keyDescriptor, plain } from '../../support/saml/service-providers/metadata.js';
import { nextProvider, useMetadataUrls } from '../../support/saml/service-providers/metadata-urls.js';
import { until } from '../../support/time/until.js';

const { documents, root, register, refresh, problemsOf, updatesOf } = useMetadataUrls();
let [first, over]: MadeCertificate[] = [];
beforeAll(async () => {
  [first, over] = await Promise.all([makeCertificate(), makeCertificate(2048, true)]);
});
const signing = (of: MadeCertificate | undefined) => keyDescriptor(of?.der ?? '');

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
    const { at, entityId } = nextProvider();
    documents[at] = plain({ entityId, inside: signing(first) });
    const { json } = await register(at);
    documents[at] = document(entityId);
    const { status, json: refusal } = await refresh(json.id);
    expect([status, refusal.errors[0].pointer]).toEqual([422, '/metadataUrl']);
    const { json: after } = await root()(`${ofInstance}/${json.id}`);
    expect(after).toEqual({
      ...json,
      source: { ...json.source, problem: expect.stringMatching(problem), failingSince: expect.any(String) },
    });
    expect(await problemsOf(json.id)).toEqual(['saml_metadata_failing']);
    await refresh(json.id);
    expect((await root()(`${ofInstance}/${json.id}`)).json.source.failingSince).toBe(after.source.failingSince);

    documents[at] = plain({ entityId, inside: signing(first) });
    const { json: mended } = await refresh(json.id);
    expect([mended.source.problem, mended.source.failingSince, await problemsOf(json.id)]).toEqual([undefined, undefined, []]);
    expect(await updatesOf(json.id)).toBe(0);
  });

  test('until it is disabled', async () => {
    const { at, entityId } = nextProvider();
    documents[at] = plain({ entityId });
    const { json } = await register(at);
    documents[at] = 500;
    await refresh(json.id);
    expect(await problemsOf(json.id)).toEqual(['saml_metadata_failing']);
    await root().patch(`${ofInstance}/${json.id}`, { status: 'disabled' });
    expect(await problemsOf(json.id)).toEqual([]);
  });
});

describe('what runs out is a problem of the service, and people go on signing in:', () => {
  test('the last of the signing certificates, and the one for encryption', async () => {
    const by = async (more: object) => {
      const acs = { assertionConsumerServices: [{ url: 'https://sp.example/acs' }] };
      const { status, json } = await root().post(ofInstance, { entityId: nextProvider().entityId, ...acs, ...more });
      return [status, await problemsOf(json.id)];
    };
    expect(await by({ signingCertificates: [over?.pem, first?.pem] })).toEqual([201, []]);
    expect(await by({ signingCertificates: [over?.pem] })).toEqual([201, ['saml_certificate_over']]);
    expect(await by({ signingCertificates: [first?.pem], encryptionCertificate: over?.pem })).toEqual([201, ['saml_certificate_over']]);
  });

  test('its metadata', async () => {
    const { entityId } = nextProvider();
    const soon = new Date(Date.now() + 1000).toISOString();
    const { status, json } = await root().post(ofInstance, { metadata: plain({ entityId, around: `validUntil="${soon}"` }) });
    expect([status, json.source.validUntil]).toEqual([201, soon]);
    await until(async () => (await problemsOf(json.id)).length > 0);
    expect(await problemsOf(json.id)).toEqual(['saml_metadata_over']);
    expect((await root()(`${ofInstance}/${json.id}`)).json).toEqual(json);
  });
});
