/** Three verifiers of signatures that share no code with the service's signer: xml-crypto, xmlsec1 and node-saml. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Profile, SAML, type SamlConfig } from '@node-saml/node-saml';
import { DOMParser } from '@xmldom/xmldom';
import { SignedXml } from 'xml-crypto';
import { acsUrl, idpEntityId, spEntityId } from './messages.js';

const DS = 'http://www.w3.org/2000/09/xmldsig#';

/** Returns the names of the elements that signatures cover, by xml-crypto. @throws if a signature is invalid */
export function signedByXmlCrypto(xml: string, certificate: string): readonly string[] {
  const document = new DOMParser().parseFromString(xml, 'text/xml');
  return [...Array.from(document.getElementsByTagNameNS(DS, 'Signature'))].map((signature) => {
    const verifier = new SignedXml({ publicCert: certificate, getCertFromKeyInfo: () => null });
    verifier.loadSignature(signature as unknown as Node);
    if (!verifier.checkSignature(xml)) throw new Error('xml-crypto: the signature does not hold');
    const [content = ''] = verifier.getSignedReferences();
    return /^<(?:\w+:)?(\w+)/.exec(content)?.[1] ?? '';
  });
}

const run = promisify(execFile);

async function withFiles<T>(files: Readonly<Record<string, string>>, use: (at: (name: string) => string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'saml-'));
  try {
    await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
    return await use((name) => join(folder, name));
  } finally {
    await rm(folder, { recursive: true });
  }
}

const names: Readonly<Record<string, string>> = {
  Response: 'urn:oasis:names:tc:SAML:2.0:protocol',
  LogoutRequest: 'urn:oasis:names:tc:SAML:2.0:protocol',
  LogoutResponse: 'urn:oasis:names:tc:SAML:2.0:protocol',
  Assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
};

/** @param path of the element whose own signature is verified: local names as `['Response', 'Assertion']`. @throws if it is invalid */
export const verifyByXmlsec = (xml: string, certificate: string, path: readonly string[]): Promise<void> =>
  withFiles({ 'message.xml': xml, 'certificate.pem': certificate }, async (at) => {
    const ids = Object.entries(names).flatMap(([name, namespace]) => ['--id-attr:ID', `${namespace}:${name}`]);
    const xpath = [...path, 'Signature'].map((name) => `/*[local-name()="${name}"]`).join('');
    const key = ['--pubkey-cert-pem', at('certificate.pem'), '--enabled-key-data', 'rsa'];
    await run('xmlsec1', ['--verify', ...key, ...ids, '--node-xpath', xpath, at('message.xml')]);
  });

/** Returns the document with its encrypted elements decrypted. */
export const decryptByXmlsec = (xml: string, key: string): Promise<string> =>
  withFiles({ 'message.xml': xml, 'key.pem': key }, async (at) => {
    const { stdout } = await run('xmlsec1', ['--decrypt', '--privkey-pem', at('key.pem'), at('message.xml')], { maxBuffer: 1 << 26 });
    return stdout;
  });

/** Returns a service provider by node-saml. The test's options say which elements must be signed. */
export const nodeSaml = (idpCert: string | string[], options: Partial<SamlConfig> = {}): SAML =>
  new SAML({
    idpCert,
    idpIssuer: idpEntityId,
    issuer: spEntityId,
    audience: spEntityId,
    callbackUrl: acsUrl,
    entryPoint: 'https://idp.example.com/idp/saml/sso',
    wantAssertionsSigned: false,
    wantAuthnResponseSigned: false,
    ...options,
  });

/** Returns the user that node-saml signs in by a response. @throws the errors of node-saml */
export async function profileByNodeSaml(xml: string, sp: SAML): Promise<Profile> {
  const { profile } = await sp.validatePostResponseAsync({ SAMLResponse: Buffer.from(xml).toString('base64') });
  if (!profile) throw new Error('node-saml: nobody');
  return profile;
}
