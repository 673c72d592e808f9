/** Metadata of an entity. @see SAML Metadata §2.4.3 */
import { createHash } from 'node:crypto';
import type { Context } from '../../../lib/extension-door.js';
import { bindingUris } from '../messages/inbound.js';
import { nameIdUris } from '../messages/name-id.js';
import { RSA_SHA256, SHA256 } from '../xml/algorithms.js';
import { ns } from '../xml/namespaces.js';
import { attribute } from '../xml/write.js';
import type { Entity } from './entity.js';
import type { PublishedKey, SigningKeyState } from './published-keys.js';

/** Seconds that service providers may cache metadata. Service providers that refresh metadata in time know a next signing key after these seconds. */
export const CACHE_SECONDS = 86_400;
/** `CACHE_SECONDS` as an `xs:duration`. */
const CACHE_DURATION = 'P1D';
/** Seconds that HTTP caches may store metadata. */
const MAX_AGE_SECONDS = 300;

/** Order of signing keys: the active signing key first, because some service providers read only the first signing key. */
const order: readonly SigningKeyState[] = ['active', 'next', 'retiring'];

export interface MetadataOptions {
  readonly wantAuthnRequestsSigned: boolean;
}

/**
 * Writes metadata. The metadata is not signed, because a reader needs the signing key before it can verify the signature. The metadata has no `validUntil`,
 * because a service provider that reads it only once must not stop working. The metadata lists algorithms, because Shibboleth signs with SHA-1 without the
 * list.
 * @see SAML Metadata Profile for Algorithm Support 1.0
 */
export function metadataXml(entity: Entity, keys: readonly PublishedKey[], { wantAuthnRequestsSigned }: MetadataOptions): string {
  const { entityId, ssoUrl, sloUrl } = entity;
  const sorted = keys.toSorted((one, other) => order.indexOf(one.state) - order.indexOf(other.state));
  const services = (name: string, url: string) =>
    Object.values(bindingUris).map((binding) => `<md:${name} Binding="${binding}"${attribute('Location', url)}></md:${name}>`);
  return [
    `<md:EntityDescriptor xmlns:md="${ns.md}" cacheDuration="${CACHE_DURATION}"${attribute('entityID', entityId)}>`,
    `<md:IDPSSODescriptor WantAuthnRequestsSigned="${wantAuthnRequestsSigned}" protocolSupportEnumeration="${ns.samlp}">`,
    `<md:Extensions>`,
    `<alg:DigestMethod xmlns:alg="${ns.alg}" Algorithm="${SHA256}"></alg:DigestMethod>`,
    `<alg:SigningMethod xmlns:alg="${ns.alg}" Algorithm="${RSA_SHA256}"></alg:SigningMethod>`,
    `</md:Extensions>`,
    ...sorted.map(keyDescriptor),
    ...services('SingleLogoutService', sloUrl),
    ...Object.values(nameIdUris).map((format) => `<md:NameIDFormat>${format}</md:NameIDFormat>`),
    ...services('SingleSignOnService', ssoUrl),
    `</md:IDPSSODescriptor></md:EntityDescriptor>`,
  ].join('\n');
}

const keyDescriptor = ({ certificate }: PublishedKey): string =>
  `<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="${ns.ds}"><ds:X509Data><ds:X509Certificate>${certificate}` +
  `</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`;

/** Answers metadata, or 304 to a client that has the same metadata. @see SAML Metadata §4.1.1, appendix A */
export function answerMetadata(ctx: Context, xml: string): void {
  ctx.set('ETag', `"${createHash('sha256').update(xml).digest('base64url')}"`);
  ctx.set('Cache-Control', `public, max-age=${MAX_AGE_SECONDS}`);
  ctx.status = 200;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  ctx.type = 'application/samlmetadata+xml';
  ctx.body = xml;
}
