/** The key that signs all messages of the service, and those that are published beside it. */

/** @see SAML Metadata §2.4.1.1 */
export interface PublishedKey {
  readonly id: string;
  /** DER in base64, without lines. */
  readonly certificate: string;
  readonly state: 'active' | 'next';
}

export interface Signer {
  /** DER in base64, for `KeyInfo`. */
  readonly certificate: string;
  /** RSASSA-PKCS1-v1_5 with SHA-256 over the bytes, in base64. */
  sign(data: string): string;
}
