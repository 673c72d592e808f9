/** Enveloped signatures over elements in canonical form. @see SAML Core §5.4 */
import { createHash } from 'node:crypto';
import { ENVELOPED, EXCLUSIVE_C14N, RSA_SHA256, SHA256 } from './algorithms.js';
import { ns } from './namespaces.js';

/** Signs all messages of the service. */
export interface Signer {
  /** DER in base64, for `KeyInfo`. */
  readonly certificate: string;
  /** Returns the signature in base64: RSASSA-PKCS1-v1_5 with SHA-256 over the bytes. */
  sign(data: string): string;
}

const { ds: DS } = ns;

/** Start tag that is signed. Alone, `SignedInfo` must declare the namespace that it inherits in the message. */
const SIGNED_START = `<ds:SignedInfo xmlns:ds="${DS}">`;
const INFO_START =
  `<ds:CanonicalizationMethod Algorithm="${EXCLUSIVE_C14N}"></ds:CanonicalizationMethod>` +
  `<ds:SignatureMethod Algorithm="${RSA_SHA256}"></ds:SignatureMethod><ds:Reference URI="#`;
const TRANSFORMS =
  `"><ds:Transforms><ds:Transform Algorithm="${ENVELOPED}"></ds:Transform>` +
  `<ds:Transform Algorithm="${EXCLUSIVE_C14N}"></ds:Transform></ds:Transforms>` +
  `<ds:DigestMethod Algorithm="${SHA256}"></ds:DigestMethod><ds:DigestValue>`;
const INFO_END = '</ds:DigestValue></ds:Reference></ds:SignedInfo>';

/**
 * Returns the element with a signature after its issuer, where the schemas require it.
 * @param head up to the end of the issuer. @param tail all after the issuer. @param id of the element, of characters that need no escape
 */
export function signedElement(head: string, tail: string, id: string, signer: Signer): string {
  const digest = createHash('sha256').update(head).update(tail).digest('base64');
  const info = `${INFO_START}${id}${TRANSFORMS}${digest}${INFO_END}`;
  const value = signer.sign(SIGNED_START + info);
  return (
    `${head}<ds:Signature xmlns:ds="${DS}"><ds:SignedInfo>${info}<ds:SignatureValue>${value}</ds:SignatureValue>` +
    `<ds:KeyInfo><ds:X509Data><ds:X509Certificate>${signer.certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></ds:Signature>${tail}`
  );
}
