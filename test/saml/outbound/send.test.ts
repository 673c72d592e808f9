/** SAML Bindings §3.4, §3.5: bindings of sent messages. */
import { createPublicKey, verify } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { logoutRequestXml, logoutResponseXml } from '../../../extensions/saml/messages/logout.js';
import { type MessageParameter, postFields, redirectUrl } from '../../../extensions/saml/messages/send.js';
import { type TestKey, testKeyOf } from '../../support/saml/keys/test-keys.js';
import { idpEntityId, persistent } from '../../support/saml/outbound/messages.js';
import { nodeSaml } from '../../support/saml/outbound/verifiers.js';

const sloUrl = 'https://sp.example.com/slo';

let key: TestKey;
let other: TestKey;
beforeAll(async () => {
  key = await testKeyOf('idp.example.com');
  other = await testKeyOf('other.example.com');
});

const requested = () => ({
  id: '_out',
  entityId: idpEntityId,
  destination: sloUrl,
  nameId: persistent,
  sessionIndex: 'session-1',
  issuedAt: Date.now(),
  notOnOrAfter: Date.now() + 300_000,
});
const request = () => logoutRequestXml(requested());
const response = () =>
  logoutResponseXml({ entityId: idpEntityId, destination: sloUrl, issuedAt: Date.now(), inResponseTo: '_in', status: { code: 'Success' } });

const states = [undefined, '', 'plain', `a+b c&d=e/?#'"%20é😀\r\n`];

describe('SAML Bindings §3.4.4.1: the Redirect binding', () => {
  test.each(states)('the signature is over the parameters as they are written, with RelayState %j', (relayState) => {
    for (const [name, xml] of [
      ['SAMLRequest', request()],
      ['SAMLResponse', response()],
    ] as const satisfies readonly (readonly [MessageParameter, string])[]) {
      const url = redirectUrl(sloUrl, name, xml, relayState, key.signer);
      const [, signed = '', signature = ''] = /^[^?]+\?(.+)&Signature=([^&]+)$/.exec(url) ?? [];
      const holds = (certificate: string) =>
        verify('sha256', Buffer.from(signed), createPublicKey(certificate), Buffer.from(decodeURIComponent(signature), 'base64'));
      expect([holds(key.certificate), holds(other.certificate)]).toEqual([true, false]);
      const parameters = new URL(url).searchParams;
      expect([...parameters.keys()]).toEqual([name, ...(relayState === undefined ? [] : ['RelayState']), 'SigAlg', 'Signature']);
      expect(parameters.get('RelayState')).toBe(relayState ?? null);
      expect(inflateRawSync(Buffer.from(parameters.get(name) ?? '', 'base64')).toString()).toBe(xml);
      expect(xml).not.toContain('Signature');
    }
  });

  test('a URL keeps its own query and loses its fragment', () => {
    const url = redirectUrl(`${sloUrl}?sp=1&x=%20#top`, 'SAMLResponse', response(), 'state', key.signer);
    expect(url).toMatch(/^https:\/\/sp\.example\.com\/slo\?sp=1&x=%20&SAMLResponse=[^#]+$/);
  });

  test('node-saml takes a LogoutRequest and a LogoutResponse, and none whose signature is another’s', async () => {
    const taken = async (name: MessageParameter, xml: string, certificate: string) => {
      const url = redirectUrl(sloUrl, name, xml, 'state', key.signer);
      return nodeSaml(certificate).validateRedirectAsync(Object.fromEntries(new URL(url).searchParams), new URL(url).search.slice(1));
    };
    expect((await taken('SAMLRequest', request(), key.certificate)).profile).toMatchObject({
      issuer: idpEntityId,
      nameID: persistent.value,
      nameIDFormat: persistent.format,
      sessionIndex: 'session-1',
    });
    expect((await taken('SAMLResponse', response(), key.certificate)).loggedOut).toBe(true);
    await expect(taken('SAMLRequest', request(), other.certificate)).rejects.toThrow(/signature/i);
    await expect(taken('SAMLResponse', response(), other.certificate)).rejects.toThrow(/signature/i);
  });
});

describe('SAML Bindings §3.5.4: the POST binding', () => {
  test.each(states)('fields carry the message in base64, and RelayState %j as it is', (relayState) => {
    const fields = postFields('SAMLResponse', '<é/>', relayState);
    expect(fields).toEqual({
      SAMLResponse: Buffer.from('<é/>').toString('base64'),
      ...(relayState !== undefined && { RelayState: relayState }),
    });
  });

  test('node-saml takes a LogoutRequest that carries its signature', async () => {
    const fields = postFields('SAMLRequest', logoutRequestXml(requested(), key.signer), undefined);
    const { profile } = await nodeSaml(key.certificate).validatePostRequestAsync(fields as { SAMLRequest: string });
    expect(profile).toMatchObject({ nameID: persistent.value, sessionIndex: 'session-1' });
    await expect(nodeSaml(other.certificate).validatePostRequestAsync(fields as { SAMLRequest: string })).rejects.toThrow(/signature/i);
  });
});
