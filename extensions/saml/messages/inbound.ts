/**
 * Messages of the protocol, in both directions. `inbound` has the messages of service providers as data, after the front door accepted them. `response` and
 * `logout` write the messages of this service as XML, and `send` puts them into a URL or a form. `status`, `name-id` and `refused` serve both directions.
 *
 * `reading/` reads XML. `sso/` and `slo/` decide what a message does.
 * @see SAML Core §3
 */

/** Binding by which a browser carries a message. @see SAML Bindings §3.4, §3.5 */
export type Binding = 'redirect' | 'post';

export const bindingUris = {
  redirect: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
  post: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
} as const satisfies Readonly<Record<Binding, string>>;

/** Returns the binding of a URI. Accepts any case, and the last part of the URI alone: `HTTP-POST`, `post`. */
export function bindingOf(uri: string | undefined): Binding | undefined {
  const wanted = uri?.trim().toLowerCase();
  return (['redirect', 'post'] as const).find((name) => [name, `http-${name}`, bindingUris[name].toLowerCase()].includes(wanted ?? ''));
}

interface Message {
  readonly id: string;
  /** entityID of the sender. */
  readonly issuer: string;
  /** Milliseconds since the epoch. */
  readonly issuedAt: number;
}

/** A request for a sign-in. @see SAML Core §3.4.1 */
export interface AuthnRequest extends Message {
  readonly kind: 'AuthnRequest';
  readonly forceAuthn: boolean;
  readonly isPassive: boolean;
  readonly acsUrl?: string;
  readonly acsIndex?: number;
  /** URI of the requested binding of the Response. */
  readonly protocolBinding?: string;
  /** URI of the requested format of the NameID. */
  readonly nameIdFormat?: string;
  readonly spNameQualifier?: string;
  readonly requestedAuthnContext?: RequestedAuthnContext;
  /** User that has to sign in. */
  readonly subject?: NameId;
}

/** Requested authentication context. @see SAML Core §3.3.2.2.1 */
export interface RequestedAuthnContext {
  /** @default 'exact' */
  readonly comparison: 'exact' | 'minimum' | 'maximum' | 'better';
  readonly classRefs: readonly string[];
  /** Whether the request asks for declarations. No sign-in of this service can satisfy declarations. */
  readonly hasDeclarations: boolean;
}

/** Identifier of a user at a service provider. @see SAML Core §2.2.3 */
export interface NameId {
  readonly value: string;
  readonly format?: string;
  readonly nameQualifier?: string;
  readonly spNameQualifier?: string;
}

/** A request for a logout. @see SAML Core §3.7.1 */
export interface LogoutRequest extends Message {
  readonly kind: 'LogoutRequest';
  readonly nameId: NameId;
  /** Indexes of the sessions to end. An empty list means all sessions of the user at this service provider. */
  readonly sessionIndexes: readonly string[];
}

/** An answer to a LogoutRequest. @see SAML Core §3.7.2 */
export interface LogoutResponse extends Message {
  readonly kind: 'LogoutResponse';
  readonly inResponseTo: string;
  /** URIs of the status and of the second-level status. */
  readonly status: string;
  readonly subStatus?: string;
}

export type InboundMessage = AuthnRequest | LogoutRequest | LogoutResponse;
