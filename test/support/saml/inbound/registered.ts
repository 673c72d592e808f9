/** Service providers whose messages the tests send to the front door. */

import type { SamlOptions } from 'tenant-idp/extensions/saml';
import { testSeed } from '../../service/seed.js';
import { type IdpInUse, useIdp } from '../../service/use-idp.js';
import { testKeyOf } from '../keys/test-keys.js';
import { type Credentials, credentialsOf } from './credentials.js';
import { endpointsOf, type Registered, receivingExtension } from './front-door.js';

/** A tenant with service providers of its own. */
export const contoso = '0197a000-0000-7000-8000-00000000c000';
const seed = { ...testSeed, tenants: [...testSeed.tenants, { id: contoso, name: 'Contoso', organisationNumber: '910000077' }] };

/** EntityID of a service provider that requires signed requests. */
export const wiki = 'https://wiki.test/saml';
/** EntityID of another service provider that requires signed requests. */
export const shop = 'https://shop.test/saml';
/** EntityID of a service provider with a certificate that does not require signed requests. */
export const lax = 'https://lax.test/saml';
/** EntityID of a service provider without a certificate. */
export const keyless = 'https://keyless.test/saml';
/** EntityID of a service provider with two keys, because it rotates its key. */
export const rotating = 'https://rotating.test/saml';
export const elliptic = 'https://elliptic.test/saml';
export const disabled = 'https://disabled.test/saml';
/** EntityID of a service provider of the tenant. */
export const ofTenant = 'https://tenant.test/saml';

export interface Keys {
  readonly wiki: Credentials;
  readonly shop: Credentials;
  readonly lax: Credentials;
  readonly next: Credentials;
  readonly elliptic: Credentials;
}

export async function registeredOnes(): Promise<{ readonly keys: Keys; readonly rows: readonly Registered[] }> {
  const keys = {
    wiki: await credentialsOf('wiki'),
    shop: await credentialsOf('shop'),
    lax: await credentialsOf('lax'),
    next: await credentialsOf('next'),
    elliptic: await credentialsOf('elliptic', 'P-256'),
  };
  const acs = [
    { url: `${wiki}/acs`, index: 3 },
    { url: `${wiki}/acs/default`, index: 1, isDefault: true },
  ];
  const certificates = (...credentials: readonly Credentials[]) => ({
    signingCertificates: credentials.map(({ certificate }) => certificate),
  });
  return {
    keys,
    rows: [
      { id: 'wiki', fields: { entityId: wiki, assertionConsumerServices: acs, ...certificates(keys.wiki) } },
      { id: 'shop', fields: { entityId: shop, ...certificates(keys.shop) } },
      { id: 'lax', fields: { entityId: lax, requireSignedRequests: false, ...certificates(keys.lax) } },
      { id: 'keyless', fields: { entityId: keyless, requireSignedRequests: false } },
      { id: 'rotating', fields: { entityId: rotating, ...certificates(keys.wiki, keys.next) } },
      { id: 'elliptic', fields: { entityId: elliptic, ...certificates(keys.elliptic) } },
      { id: 'disabled', fields: { entityId: disabled, status: 'disabled', ...certificates(keys.wiki) } },
      { id: 'tenant', tid: contoso, fields: { entityId: ofTenant, ...certificates(keys.wiki) } },
      // The same entityID at another entity, with another key.
      { id: 'wiki-of-tenant', tid: contoso, fields: { entityId: wiki, ...certificates(keys.shop) } },
    ],
  };
}

/** Starts a service with the front door and all service providers of this file, for the tests of a file. */
export function useFrontDoor(options: SamlOptions = {}) {
  let known: Keys | undefined;
  const service: IdpInUse = useIdp(async () => {
    const { keys, rows } = await registeredOnes();
    known = keys;
    const { key, certificate } = await testKeyOf('identity provider');
    return { seed, trustProxy: 1, extensions: [receivingExtension({ keys: [{ key, certificate }], ...options }, () => rows)] };
  });
  return {
    service,
    get keys(): Keys {
      if (!known) throw new Error('The service is started before the first test.');
      return known;
    },
    at: (tid?: string) => endpointsOf(service.issuer, tid),
  };
}
