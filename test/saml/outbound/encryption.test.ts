/** XML Encryption 1.1 §5.2.4, §5.5.2; SAML Core §6: only the service provider can read encrypted assertions. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { responseXml } from '../../../extensions/saml/messages/response.js';
import { describeInstalled } from '../../servers/installed.js';
import { type TestKey, testKeyOf } from '../../support/saml/keys/test-keys.js';
import { signed, successOf } from '../../support/saml/outbound/messages.js';
import { decryptByXmlsec, nodeSaml, profileByNodeSaml, signedByXmlCrypto, verifyByXmlsec } from '../../support/saml/outbound/verifiers.js';

let key: TestKey;
let sp: TestKey;
let other: TestKey;
beforeAll(async () => {
  [key, sp, other] = (await Promise.all(['idp.example.com', 'sp.example.com', 'other.example.com'].map(testKeyOf))) as [
    TestKey,
    TestKey,
    TestKey,
  ];
});

type Method = 'aes128-gcm' | 'aes256-gcm';
const methods: readonly Method[] = ['aes128-gcm', 'aes256-gcm'];

const policy = (encryption: Method, more: Partial<typeof signed> = {}): typeof signed => ({
  ...signed,
  encryption,
  encryptionCertificate: sp.der,
  ...more,
});

const write = (serviceProvider: typeof signed) =>
  responseXml(successOf({ attributes: [{ name: 'role', values: ['admin & <more>', '😀'] }] }), { signer: key.signer, serviceProvider });

const assertionIn = (xml: string): string => /<saml:Assertion[\s\S]*<\/saml:Assertion>/.exec(xml)?.[0] ?? '';

describe.each(methods)('%s', (method) => {
  test('nothing of the assertion is in clear, and node-saml reads it with its key alone', async () => {
    const xml = write(policy(method));
    expect(xml).not.toMatch(/<saml:Assertion|pseudonym|role/);
    const wants = { wantAssertionsSigned: true };
    const { nameID, attributes } = await profileByNodeSaml(xml, nodeSaml(key.certificate, { ...wants, decryptionPvk: sp.key }));
    expect([nameID, attributes]).toEqual(['pseudonym', { role: ['admin & <more>', '😀'] }]);
    await expect(profileByNodeSaml(xml, nodeSaml(key.certificate, { ...wants, decryptionPvk: other.key }))).rejects.toThrow();
  });

  test('the message is signed over what was encrypted, so that its signature holds as it is sent', async () => {
    const xml = write(policy(method, { signResponse: true }));
    expect(signedByXmlCrypto(xml, key.certificate)).toEqual(['Response']);
    const wants = { wantAssertionsSigned: true, wantAuthnResponseSigned: true, decryptionPvk: sp.key };
    expect((await profileByNodeSaml(xml, nodeSaml(key.certificate, wants))).nameID).toBe('pseudonym');
  });

  describeInstalled('by xmlsec1', { xmlsec1: 'xmlsec1' }, () => {
    test('the decrypted assertion has a valid signature without the message around it', async () => {
      const decrypted = await decryptByXmlsec(write(policy(method)), sp.key);
      const assertion = assertionIn(decrypted);
      expect(signedByXmlCrypto(assertion, key.certificate)).toEqual(['Assertion']);
      await verifyByXmlsec(assertion, key.certificate, ['Assertion']);
      await expect(decryptByXmlsec(write(policy(method)), other.key)).rejects.toThrow();
    });
  });
});

test('no two messages have a key or an initialisation vector in common', () => {
  const values = Array.from({ length: 20 }, () => write(policy('aes128-gcm'))).flatMap((xml) =>
    [...xml.matchAll(/<xenc:CipherValue>([^<]{1,16})/g)].map(([, start]) => start),
  );
  expect([values.length, new Set(values).size]).toEqual([40, 40]);
});

test('without a certificate nothing is written, least of all the assertion in clear', () => {
  const { encryptionCertificate: _, ...without } = policy('aes256-gcm');
  expect(() => write(without)).toThrow('encryption without a certificate');
});
