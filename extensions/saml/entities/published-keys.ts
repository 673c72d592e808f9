/** Signing keys as service providers know them. */

/**
 * State of a signing key. The `active` signing key signs, the `next` signing key will sign, and a `retiring` signing key signed before. A retiring signing
 * key may be activated again.
 */
export type SigningKeyState = 'active' | 'next' | 'retiring';

/** A signing key in metadata. @see SAML Metadata §2.4.1.1 */
export interface PublishedKey {
  readonly id: string;
  /** DER in base64, without lines. */
  readonly certificate: string;
  readonly state: SigningKeyState;
}

/** A private key and its certificate, both as PEM. */
export interface SamlKeyPair {
  /** Private RSA key of 2048 bits or more, without a passphrase. */
  readonly key: string;
  /** X.509 certificate of the private key, which may be self-signed. */
  readonly certificate: string;
}
