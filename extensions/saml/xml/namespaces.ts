/** Namespaces, by the prefixes that the specifications use. */
export const ns = {
  saml: 'urn:oasis:names:tc:SAML:2.0:assertion',
  samlp: 'urn:oasis:names:tc:SAML:2.0:protocol',
  md: 'urn:oasis:names:tc:SAML:2.0:metadata',
  mdui: 'urn:oasis:names:tc:SAML:metadata:ui',
  alg: 'urn:oasis:names:tc:SAML:metadata:algsupport',
  ds: 'http://www.w3.org/2000/09/xmldsig#',
  xenc: 'http://www.w3.org/2001/04/xmlenc#',
  xml: 'http://www.w3.org/XML/1998/namespace',
} as const;
