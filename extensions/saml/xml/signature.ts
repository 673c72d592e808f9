/**
 * Verifies the signature of a message: one, over the whole of it, by a registered key. What is read afterwards are the bytes that were signed, and nothing
 * of the document around them.
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
    'The signature is not that of the whole message: one, right below its root, with one reference to the ID of the root.',
  signature_form: 'The signature has parts that it may not have.',
  signature_alg_not_allowed: 'The signature is by an algorithm that is not accepted.',
  signature_invalid: 'No registered key of the service provider made the signature of this message.',
} as const;

export class BadSignature extends Error {
  override readonly name = 'BadSignature';
  constructor(readonly reason: keyof typeof badSignatures) {
    super(badSignatures[reason]);
  }
}

/** There are no comments, so both forms are the same. @see SAML Core §5.4.3, §5.4.4 */
const canonicalizations = [EXCLUSIVE_C14N, `${EXCLUSIVE_C14N}WithComments`];

/** All signatures in the tree, wherever they are. */
export function signaturesIn(element: Element): Element[] {
  const below = elementsOf(element).flatMap(signaturesIn);
  return isNamed(element, ns.ds, 'Signature') ? [element, ...below] : below;
}

/**
 * The root of what was signed, parsed from the signed bytes: it has no signature any more.
 * @param xml the document, @param root the root of it
 * @throws BadSignature
 * @see SAML Core §5.4.2
 */
export function signedRoot(xml: string, root: Element, keys: readonly KeyObject[]): Element {
  const [signature, second] = signaturesIn(root);
  if (!signature || second || signature.parentNode !== root) throw new BadSignature('signature_reference');
  const { algorithm, digest, id } = describedBy(signature);
  if (id !== attribute(root, 'ID')) throw new BadSignature('signature_reference');
  if (!isSignatureAlgorithm(algorithm) || !digests.has(digest)) throw new BadSignature('signature_alg_not_allowed');

  // The canonical form may be longer than what came, by the namespaces that each branch repeats: it is signed, so nobody else made it so.
  const limits = { maxBytes: 4 * messageLimits.maxBytes, maxNodes: 4 * messageLimits.maxNodes };
  const [signed, another] = signedBytes(xml, signature, algorithm, keys);
  if (signed === undefined || another !== undefined) throw new BadSignature('signature_invalid');
  const read = parseStrict(signed, limits);
  if (attribute(read, 'ID') !== id || !isNamed(read, root.namespaceURI ?? '', root.localName))
    throw new BadSignature('signature_reference');
  return read;
}

/** What a signature says of itself. @throws BadSignature where it is not in the form that SAML gives it. */
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
    // `HMACOutputLength` would be one of their children.
    for (const element of [method, digestMethod, enveloped]) ordered(element);

    const uri = attribute(reference, 'URI') ?? '';
    if (!/^#[A-Za-z_][\w.-]*$/.test(uri)) throw new BadSignature('signature_reference');
    return { algorithm: algorithmOf(method), digest: algorithmOf(digestMethod), id: uri.slice(1) };
  } catch (error) {
    throw error instanceof MalformedXml ? new BadSignature('signature_form') : error;
  }
}

const algorithmOf = (element: Element): string => attribute(element, 'Algorithm') ?? '';

/** Each of the references that were verified, in canonical form. Keys in the message count for nothing. */
function signedBytes(xml: string, signature: Element, algorithm: string, keys: readonly KeyObject[]): readonly string[] {
  const [key] = keys;
  if (!key) return [];
  const verifier = new SignedXml({ publicCert: key, getCertFromKeyInfo: () => null });
  // All keys in one go, because the canonical form takes longer than the keys.
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

/** Algorithms as xml-crypto looks them up: without a prototype, so that no name finds what is not in the table. */
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
