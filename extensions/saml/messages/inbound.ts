/**
 * Messages of the protocol, both ways. `inbound` is what service providers send, as data, once the front door has let it in. `response` and `logout` write
 * what we send as XML, and `send` puts it into a URL or a form. `status`, `name-id` and `refused` are words of both ways.
 *
 * XML is read in `reading/`, and what a message brings about is decided in `sso/` and `slo/`.
 * @see SAML Core §3
 */

/** How a message travels in a browser. @see SAML Bindings §3.4, §3.5 */
export type Binding = 'redirect' | 'post';

export const bindingUris = {
  redirect: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
  post: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
} as const satisfies Readonly<Record<Binding, string>>;

/** Returns the binding that a URI names, without regard to case, or that its last part names: `HTTP-POST`, `post`. */
export function bindingOf(uri: string | undefined): Binding | undefined {
  const wanted = uri?.trim().toLowerCase();
  return (['redirect', 'post'] as const).find((name) => [name, `http-${name}`, bindingUris[name].toLowerCase()].includes(wanted ?? ''));
}

interface Message {
  readonly id: string;
  /** The entityID of the sender. */
  readonly issuer: string;
  /** Milliseconds since the epoch. */
  readonly issuedAt: number;
}

/** @see SAML Core §3.4.1 */
export interface AuthnRequest extends Message {
  readonly kind: 'AuthnRequest';
  readonly forceAuthn: boolean;
  readonly isPassive: boolean;
  readonly acsUrl?: string;
  readonly acsIndex?: number;
  /** The URI of the binding that the response is wanted by. */
  readonly protocolBinding?: string;
  /** The URI of the format that the NameID is wanted in. */
  readonly nameIdFormat?: string;
  readonly spNameQualifier?: string;
  readonly requestedAuthnContext?: RequestedAuthnContext;
  /** Whom the service provider wants signed in. */
  readonly subject?: NameId;
}

/** @see SAML Core §3.3.2.2.1 */
export interface RequestedAuthnContext {
  /** @default 'exact' */
  readonly comparison: 'exact' | 'minimum' | 'maximum' | 'better';
  readonly classRefs: readonly string[];
  /** Whether declarations were asked for, which nothing here can meet. */
  readonly hasDeclarations: boolean;
}

/** @see SAML Core §2.2.3 */
export interface NameId {
  readonly value: string;
  readonly format?: string;
  readonly nameQualifier?: string;
  readonly spNameQualifier?: string;
}

/** @see SAML Core §3.7.1 */
export interface LogoutRequest extends Message {
  readonly kind: 'LogoutRequest';
  readonly nameId: NameId;
  /** Empty: all sessions of the subject at this service provider. */
  readonly sessionIndexes: readonly string[];
}

/** @see SAML Core §3.7.2 */
export interface LogoutResponse extends Message {
  readonly kind: 'LogoutResponse';
  readonly inResponseTo: string;
  /** The URIs of the status and, where there is one, of the status below it. */
  readonly status: string;
  readonly subStatus?: string;
}

export type InboundMessage = AuthnRequest | LogoutRequest | LogoutResponse;
