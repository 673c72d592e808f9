/** Keys as service providers know them. */

/** The active one signs. The next is about to; a retiring one signed before, and may be activated again. */
export type SigningKeyState = 'active' | 'next' | 'retiring';

/** @see SAML Metadata §2.4.1.1 */
export interface PublishedKey {
  readonly id: string;
  /** DER in base64, without lines. */
  readonly certificate: string;
  readonly state: SigningKeyState;
}

/** A key and what service providers know it by, both as PEM. */
export interface SamlKeyPair {
  /** A private RSA key of 2048 bits or more, without a passphrase. */
  readonly key: string;
  /** The X.509 certificate of the key, which may be self-signed. */
  readonly certificate: string;
}
