/**
 * Verification of enveloped signatures: one signature, over the whole message, by a registered signing key. The readers then get the signed bytes alone,
 * and nothing of the document around them.
 */
import type { KeyObject } from 'node:crypto';
import { SignedXml } from 'xml-crypto';
import { digests, ENVELOPED, EXCLUSIVE_C14N, isSignatureAlgorithm, isSignedByOne } from './algorithms.js';
import { decodedBase64, withoutSpace } from './base64.js';
import { attribute, elementsOf, isNamed, ordered, required, textOf } from './elements.js';
import { MalformedXml } from './malformed.js';
import { ns } from './namespaces.js';
import { messageLimits, parseStrict } from './strict.js';

export const badSignatures = {
  signature_reference:
    'The signature does not cover the whole message. Send one signature directly below the root, with one reference to the ID of the root.',
  signature_form:
    'The signature has a part that is not allowed. Use only the transforms enveloped signature and exclusive canonicalization.',
  signature_alg_not_allowed:
    'An algorithm of the signature is not allowed. Use RSA or ECDSA with SHA-256, SHA-384 or SHA-512, and exclusive canonicalization.',
  signature_invalid:
    'No registered signing key of the service provider made the signature of this message. Compare `signingCertificates` with the certificate that the service provider signs with.',
} as const;

export class BadSignature extends Error {
  override readonly name = 'BadSignature';
  constructor(readonly reason: keyof typeof badSignatures) {
    super(badSignatures[reason]);
  }
}

/** Accepted canonicalizations. Both canonicalizations give the same form, because messages have no comments. @see SAML Core §5.4.3, §5.4.4 */
const canonicalizations = [EXCLUSIVE_C14N, `${EXCLUSIVE_C14N}WithComments`];

/** Returns all signatures in the tree, at any depth. */
export function signaturesIn(element: Element): Element[] {
  const below = elementsOf(element).flatMap(signaturesIn);
  return isNamed(element, ns.ds, 'Signature') ? [element, ...below] : below;
}

/**
 * Returns the root of the signed bytes, which is parsed from them and has no signature.
 * @param xml the document, @param root its root
 * @throws BadSignature
 * @see SAML Core §5.4.2
 */
export function signedRoot(xml: string, root: Element, keys: readonly KeyObject[]): Element {
  const [signature, second] = signaturesIn(root);
  if (!signature || second || signature.parentNode !== root) throw new BadSignature('signature_reference');
  const { algorithm, digest, id } = describedBy(signature);
  if (id !== attribute(root, 'ID')) throw new BadSignature('signature_reference');
  if (!isSignatureAlgorithm(algorithm) || !digests.has(digest)) throw new BadSignature('signature_alg_not_allowed');

  // The canonical form may be longer than the document, because each branch repeats namespaces. The signer chose that length, not an attacker.
  const limits = { maxBytes: 4 * messageLimits.maxBytes, maxNodes: 4 * messageLimits.maxNodes };
  const [signed, another] = signedBytes(xml, signature, algorithm, keys);
  if (signed === undefined || another !== undefined) throw new BadSignature('signature_invalid');
  const read = parseStrict(signed, limits);
  if (attribute(read, 'ID') !== id || !isNamed(read, root.namespaceURI ?? '', root.localName))
    throw new BadSignature('signature_reference');
  return read;
}

/** Returns the members of a signature. @throws BadSignature if the signature does not have the form that SAML requires */
function describedBy(signature: Element): { readonly algorithm: string; readonly digest: string; readonly id: string } {
  try {
    ordered(signature, [ns.ds, 'SignedInfo'], [ns.ds, 'SignatureValue'], [ns.ds, 'KeyInfo']);
    const signedInfo = required(signature, ns.ds, 'SignedInfo');
    const references = elementsOf(signedInfo).filter((element) => isNamed(element, ns.ds, 'Reference'));
    if (references.length !== 1) throw new BadSignature('signature_reference');
    ordered(signedInfo, [ns.ds, 'CanonicalizationMethod'], [ns.ds, 'SignatureMethod'], [ns.ds, 'Reference']);
    const canonicalization = required(signedInfo, ns.ds, 'CanonicalizationMethod');
    const method = required(signedInfo, ns.ds, 'SignatureMethod');
    const reference = required(signedInfo, ns.ds, 'Reference');
    ordered(reference, [ns.ds, 'Transforms'], [ns.ds, 'DigestMethod'], [ns.ds, 'DigestValue']);
    const digestMethod = required(reference, ns.ds, 'DigestMethod');
    textOf(required(reference, ns.ds, 'DigestValue'));
    if (decodedBase64(withoutSpace(textOf(required(signature, ns.ds, 'SignatureValue')))) === undefined)
      throw new BadSignature('signature_form');

    const transforms = elementsOf(required(reference, ns.ds, 'Transforms'));
    const [enveloped, canonical, third] = transforms;
    if (!enveloped || algorithmOf(enveloped) !== ENVELOPED || !canonical || third) throw new BadSignature('signature_form');
    for (const element of [canonicalization, canonical]) {
      ordered(element, [EXCLUSIVE_C14N, 'InclusiveNamespaces']);
      if (!canonicalizations.includes(algorithmOf(element))) throw new BadSignature('signature_alg_not_allowed');
    }
    // Refuses child elements such as `HMACOutputLength`.
    for (const element of [method, digestMethod, enveloped]) ordered(element);

    const uri = attribute(reference, 'URI') ?? '';
    if (!/^#[A-Za-z_][\w.-]*$/.test(uri)) throw new BadSignature('signature_reference');
    return { algorithm: algorithmOf(method), digest: algorithmOf(digestMethod), id: uri.slice(1) };
  } catch (error) {
    throw error instanceof MalformedXml ? new BadSignature('signature_form') : error;
  }
}

const algorithmOf = (element: Element): string => attribute(element, 'Algorithm') ?? '';

/** Returns the verified references in canonical form. Keys in the message are ignored. */
function signedBytes(xml: string, signature: Element, algorithm: string, keys: readonly KeyObject[]): readonly string[] {
  const [key] = keys;
  if (!key) return [];
  const verifier = new SignedXml({ publicCert: key, getCertFromKeyInfo: () => null });
  // Tries all signing keys in one verification, because the canonicalization takes longer than the checks by all signing keys.
  const verifySignature = (data: string, _key: unknown, value: string): boolean =>
    isSignedByOne(algorithm, keys, data, Buffer.from(value, 'base64'), ['ieee-p1363']);
  verifier.SignatureAlgorithms = tableOf([[algorithm, { verifySignature }]]);
  verifier.HashAlgorithms = tableOf([...digests].map(([uri, getHash]) => [uri, { getHash }]));
  verifier.CanonicalizationAlgorithms = Object.assign(
    Object.create(null),
    Object.fromEntries([ENVELOPED, ...canonicalizations].map((uri) => [uri, verifier.CanonicalizationAlgorithms[uri]])),
  );
  try {
    verifier.loadSignature(signature);
    return verifier.checkSignature(xml) ? verifier.getSignedReferences() : [];
  } catch {
    return [];
  }
}

/** Returns algorithms in a table for xml-crypto. The table has no prototype, so that a look-up finds only its own names. */
function tableOf<Made>(algorithms: readonly (readonly [uri: string, members: object])[]): Record<string, new () => Made> {
  const table = Object.create(null) as Record<string, new () => Made>;
  for (const [uri, members] of algorithms)
    table[uri] = class {
      constructor() {
        Object.assign(this, members, { getAlgorithmName: () => uri });
      }
    } as never;
  return table;
}
