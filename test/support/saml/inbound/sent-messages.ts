/** Messages as service providers and attackers send them: written, signed and encoded without the service's own SAML code. */

import { createHash, randomUUID, sign } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { SignedXml } from 'xml-crypto';
import { present } from '../../../../lib/present.js';
import type { Credentials } from './credentials.js';

const samlp = 'urn:oasis:names:tc:SAML:2.0:protocol';
const saml = 'urn:oasis:names:tc:SAML:2.0:assertion';
const more = 'http://www.w3.org/2001/04/xmldsig-more#';
export const uris = {
  enveloped: 'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
  exclusive: 'http://www.w3.org/2001/10/xml-exc-c14n#',
  inclusive: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
  sha1: 'http://www.w3.org/2000/09/xmldsig#sha1',
  sha256: 'http://www.w3.org/2001/04/xmlenc#sha256',
  rsaSha1: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1',
  rsaSha256: `${more}rsa-sha256`,
  ecdsaSha256: `${more}ecdsa-sha256`,
  hmacSha256: `${more}hmac-sha256`,
} as const;

export const newId = (): string => `_${randomUUID()}`;
/** Returns an instant in the form of SAML. @param seconds from now */
export const instant = (seconds = 0): string => new Date(Date.now() + seconds * 1000).toISOString();

export interface MessageParts {
  readonly id?: string;
  readonly version?: string;
  readonly issueInstant?: string;
  /** Null means: no `Destination`. */
  readonly destination?: string | null;
  readonly issuer: string;
  /** The whole element, in place of one with `issuer`. */
  readonly issuerElement?: string;
  /** More attributes of the root. */
  readonly attributes?: string;
  /** XML after the issuer, and after the signature. */
  readonly body?: string;
  readonly namespace?: string;
}

function message(
  name: string,
  {
    id = newId(),
    version = '2.0',
    issueInstant = instant(),
    destination = null,
    issuer,
    issuerElement,
    attributes = '',
    body = '',
    namespace = samlp,
  }: MessageParts,
): string {
  const to = destination === null ? '' : ` Destination="${destination}"`;
  const from = issuerElement ?? `<saml:Issuer>${issuer}</saml:Issuer>`;
  return `<samlp:${name} xmlns:samlp="${namespace}" xmlns:saml="${saml}" ID="${id}" Version="${version}" IssueInstant="${issueInstant}"${to} ${attributes}>${from}${body}</samlp:${name}>`;
}

export const authnRequest = (parts: MessageParts): string => message('AuthnRequest', parts);
export const logoutRequest = ({ body = '<saml:NameID>alice</saml:NameID>', ...parts }: MessageParts): string =>
  message('LogoutRequest', { ...parts, body });
const success = '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>';
export const logoutResponse = ({ body = success, attributes = 'InResponseTo="_asked"', ...parts }: MessageParts): string =>
  message('LogoutResponse', { ...parts, attributes, body });

export interface SigningOptions {
  readonly algorithm?: string;
  readonly digest?: string;
  readonly canonicalization?: string;
  readonly transforms?: readonly string[];
  /** Name of the element to sign. @default the root */
  readonly of?: string;
  /** Name of the element before the signature. @default the issuer of the root */
  readonly behind?: string;
  /** Certificate in `KeyInfo`. @default the signer's */
  readonly keyInfo?: string;
  readonly isEmptyUri?: boolean;
}

const hashOf = (algorithm: string): string => `sha${/(1|256|384|512)$/.exec(algorithm)?.[1] ?? '256'}`;

/** Returns the document with a signature in it. */
export function signed(xml: string, { key, certificate }: Credentials, options: SigningOptions = {}): string {
  const {
    algorithm = uris.rsaSha256,
    digest = uris.sha256,
    canonicalization = uris.exclusive,
    transforms = [uris.enveloped, uris.exclusive],
    of = '/*',
    behind = "/*/*[local-name(.)='Issuer']",
    keyInfo = certificate,
    isEmptyUri = false,
  } = options;
  const signer = new SignedXml({
    privateKey: key,
    signatureAlgorithm: algorithm,
    canonicalizationAlgorithm: canonicalization,
    getKeyInfoContent: () => `<ds:X509Data><ds:X509Certificate>${keyInfo}</ds:X509Certificate></ds:X509Data>`,
  });
  signer.SignatureAlgorithms[algorithm] = class {
    getSignature = (data: string) => sign(hashOf(algorithm), Buffer.from(data), { key, dsaEncoding: 'ieee-p1363' }).toString('base64');
    verifySignature = () => false;
    getAlgorithmName = () => algorithm;
  } as never;
  signer.HashAlgorithms[digest] = class {
    getHash = (data: string) => createHash(hashOf(digest)).update(data).digest('base64');
    getAlgorithmName = () => digest;
  } as never;
  signer.addReference({ xpath: of, transforms: [...transforms], digestAlgorithm: digest, isEmptyUri });
  signer.computeSignature(xml, { prefix: 'ds', location: { reference: behind, action: 'after' } });
  return signer.getSignedXml();
}

/** Returns the signature in a document, unchanged. */
export function signatureIn(xml: string): string {
  const found = /<ds:Signature [\s\S]*<\/ds:Signature>/.exec(xml)?.[0];
  if (found === undefined) throw new Error('there is no signature');
  return found;
}

export interface RedirectOptions {
  readonly parameter?: 'SAMLRequest' | 'SAMLResponse';
  readonly relayState?: string;
  /** Credentials that sign. Default: not signed. */
  readonly by?: Credentials;
  readonly algorithm?: string;
  /** Encoding of values in the URL. @default `encodeURIComponent` */
  readonly encode?: (value: string) => string;
  readonly ecForm?: 'ieee-p1363' | 'der';
}

/** Returns the parameters of a URL, in their order and as encoded in the URL. */
export function redirectParameters(xml: string | Buffer, options: RedirectOptions = {}): [name: string, raw: string][] {
  const {
    parameter = 'SAMLRequest',
    relayState,
    by,
    algorithm = uris.rsaSha256,
    encode = encodeURIComponent,
    ecForm = 'ieee-p1363',
  } = options;
  const pairs: [string, string][] = [[parameter, encode(deflateRawSync(xml).toString('base64'))]];
  if (relayState !== undefined) pairs.push(['RelayState', encode(relayState)]);
  if (!by) return pairs;
  pairs.push(['SigAlg', encode(algorithm)]);
  const signature = sign(hashOf(algorithm), Buffer.from(joined(pairs)), { key: by.key, dsaEncoding: ecForm });
  return [...pairs, ['Signature', encode(signature.toString('base64'))]];
}

export const joined = (pairs: readonly (readonly [string, string])[]): string => pairs.map(([name, raw]) => `${name}=${raw}`).join('&');

/** Returns the query of a URL. */
export const redirectQuery = (xml: string | Buffer, options?: RedirectOptions): string => joined(redirectParameters(xml, options));

/** Returns the fields of a form. */
export const postFields = (
  xml: string | Buffer,
  { parameter = 'SAMLRequest', relayState }: Pick<RedirectOptions, 'parameter' | 'relayState'> = {},
): Record<string, string> => ({
  [parameter]: Buffer.from(xml).toString('base64'),
  ...present({ RelayState: relayState }),
});
