/**
 * Sign-in as extensions see it: methods, requirements, requests for a sign-in, participants in a logout.
 *
 * Declares the interaction: a sign-in that waits for a user, as the page of the sign-in sees it. `interactions` declares the steps that a page may take
 * with the interaction.
 */
import type { Account, Proof, SignInRef } from '../../directory/index.js';
import type { EventMetadata } from '../../events.js';
import type { Client } from '../../store/records/records.js';

/** Accounts that invited users may create for one internal client. */
export interface RegistrationLimits {
  /** Maximum accounts in a day. */
  readonly accounts: number;
  /** Maximum submitted forms in a day. Each form causes a mail, or shows whether a name exists. */
  readonly forms: number;
}

/** A sign-in with its proof. */
export interface SignIn {
  /** Id of the user who signs in. */
  readonly oid: string;
  readonly amr: readonly string[];
  /** `local`, or the external identity provider. */
  readonly idp: string;
  /** Name of the method in a tenant's `signIn.methods`. @default `password` for `local`, else the `idp` */
  readonly method?: string;
  /**
   * The recorded identity's subject, or the credential's id, by which the person signed in. The sign-in ends if the user gets privileges that the writer of
   * the identity or credential did not hold.
   * @default the password for `local`; else the identity of this `idp` that opens the fewest privileges
   */
  readonly used?: string;
  /**
   * Id of the tenant of the external identity provider that sent `mfa`. Only accounts of this tenant then have `mfa` in `amr`.
   * @default every tenant: the provider belongs to the instance
   */
  readonly mfaIn?: string;
  /**
   * Id of the only tenant whose requests the sign-in answers. A request of the tenant comes from a client with this tenant alone in `allowedTenants`, or
   * has the tenant in `tenant:`.
   * @default every request that the account may answer
   */
  readonly heldTo?: string;
  /**
   * The impersonator (RFC 8693 §4.1): an account of the person who is signed in here, and who does not impersonate already. The impersonator's session is
   * set aside until the impersonation ends. The extension has to decide who may impersonate whom. Tokens and introspection have `act`.
   */
  readonly act?: { readonly oid: string; readonly sub: string; readonly tid: string };
  /**
   * Name of the impersonation: the extension's name, a colon, and a name. The extension's member `impersonation` decides whether the impersonation may
   * continue.
   */
  readonly impersonation?: string;
  /** Time at which the sign-in ends, with its session, grants and tokens. With `act`, at most `lifetimes.impersonation` from now. */
  readonly endsAt?: Date;
  /** `false`: the grant has no `offline_access`, and the client gets no refresh token. With `act`, `offline` is always `false`. */
  readonly offline?: false;
  /** Proof of `directory.credentials`. The service checks the proof again at its use, because pages may come between the proof and its use. */
  readonly proof: Proof;
}

/** An account that signed in from a browser, or that the browser may select. */
export interface KnownAccount {
  readonly account: Account;
  /** Whether the account can be selected without a sign-in: the account is signed in, or linked to the signed-in account. */
  readonly isSignedIn: boolean;
}

/** A step of a sign-in that waits for the user. */
export interface Interaction {
  readonly uid: string;
  /** The browser of the interaction: the hash of a secret that no other browser has. */
  readonly browser: string;
  readonly prompt: 'login' | 'consent' | 'select_account' | 'create' | 'requirement';
  /** The requirement whose page is due, if `prompt` names one. */
  readonly requirement?: string;
  readonly client: Client;
  /** Whether an extension started the sign-in by `signIn.require`. Otherwise a client did, by a request. @default false */
  readonly isInternal?: boolean;
  /** Limits of registration, from the internal client. With these limits, an invitation lets users create an account here. */
  readonly registration?: RegistrationLimits;
  /** Metadata of events, from the internal client. If the sign-in creates an account, pass the metadata to `directory.as` as `metadata`. */
  readonly eventMetadata?: EventMetadata;
  /** Parameters of the authorization request. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The sign-in method or provider that the request names by `idp:` in `acr_values`. */
  readonly idp?: string;
  /** Ids of tenants whose users may sign in here, as the client and `tenant:` limit them. Undefined: all tenants. */
  readonly tids?: readonly string[];
  /** Id of the signed-in user, if there is one. */
  readonly oid?: string;
  /** Name of the signed-in user's session in this browser, as in `BrowserSignIn`. */
  readonly session?: string;
  /** Time of the signed-in user's sign-in, in seconds since the epoch. */
  readonly authTime?: number;
  /** Id of the user whose credential the signed-in user's sign-in used. */
  readonly owner?: string;
  /** Method of the signed-in user's sign-in. */
  readonly signedInBy?: SignInRef;
  /** The impersonator of the signed-in user. */
  readonly act?: SignIn['act'];
  /** Whether the application can be sent a response: the redirect URI of the request is still registered. */
  readonly isAnswerable: boolean;
  /** Scopes that the user has not allowed yet. A claim that is requested by name is listed by the scope that would grant the claim. */
  readonly missingScopes: readonly string[];
}
