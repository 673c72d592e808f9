/** Metadata of the identity provider, for the service provider. The metadata are read at the start, and again after a day. */
import { DOMParser } from '@xmldom/xmldom';

export interface IdentityProvider {
  readonly entityId: string;
  readonly signInUrl: string;
  readonly logoutUrl: string;
  /** Certificates as PEM, including the certificate of the next signing key, so that a rotation causes no failure. */
  readonly certificates: readonly string[];
}

const METADATA = 'urn:oasis:names:tc:SAML:2.0:metadata';
const SIGNATURE = 'http://www.w3.org/2000/09/xmldsig#';
const REDIRECT = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';
const DAY_MS = 86_400_000;

export function followMetadata(url: string): () => Promise<IdentityProvider> {
  let read: { readonly at: number; readonly found: IdentityProvider } | undefined;
  return async () => {
    if (!read || Date.now() - read.at > DAY_MS) read = { at: Date.now(), found: await readMetadata(url) };
    return read.found;
  };
}

async function readMetadata(url: string): Promise<IdentityProvider> {
  const response = await fetch(url);
  if (!response.ok) throw new TypeError(`${url} answers ${response.status}`);
  const { documentElement: root } = new DOMParser().parseFromString(await response.text(), 'text/xml');
  const all = (namespace: string, name: string): Element[] => Array.from(root.getElementsByTagNameNS(namespace, name));
  const locationOf = (name: string): string =>
    all(METADATA, name)
      .find((service) => service.getAttribute('Binding') === REDIRECT)
      ?.getAttribute('Location') ?? '';
  return {
    entityId: root.getAttribute('entityID') ?? '',
    signInUrl: locationOf('SingleSignOnService'),
    logoutUrl: locationOf('SingleLogoutService'),
    certificates: all(SIGNATURE, 'X509Certificate').map(
      ({ textContent }) =>
        `-----BEGIN CERTIFICATE-----\n${textContent?.replace(/\s/g, '').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    ),
  };
}
