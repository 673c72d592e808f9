/** Options of a service with SAML, and its published metadata. */
import { type SamlOptions, saml } from 'tenant-idp/extensions/saml';
import { samlOptions } from './administration.js';

/** Options of a service with SAML. */
export const withSaml = (options: SamlOptions = {}) => ({ ...samlOptions, extensions: [saml(options)] });

/** Returns the certificates of metadata, in their order. */
export const certificatesIn = (metadata: string): readonly string[] =>
  [...metadata.matchAll(/<ds:X509Certificate>([^<]+)</g)].map(([, certificate = '']) => certificate);

export const metadataAt = async (issuer: string): Promise<string> => (await fetch(`${issuer}/idp/saml/metadata`)).text();
