/**
 * Sign-in as extensions see it: methods, requirements, requests for a sign-in, participants in a logout.
 *
 * This file declares the interaction: a sign-in that waits for a person, as its page sees it. `interactions` declares the steps that a page may take with
 * it.
 */
import type { Account, Proof, SignInRef } from '../../directory/index.js';
import type { EventMetadata } from '../../events.js';
import type { Client } from '../../store/records/records.js';

/** Accounts that invited users may create for one internal client. */
export interface RegistrationLimits {
  /** Maximum accounts in a day. */
  readonly accounts: number;
  /** Maximum submitted forms in a day, because each form causes a mail, or shows whether a name exists. */
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
   * The subject of the recorded identity, or the id of the credential, by which the person signed in. If the user gets privileges that the writer of the means did not
   * hold, the sign-in ends.
   * @default the password for `local`; else the identity of this `idp` that opens the fewest privileges
   */
  readonly used?: string;
  /**
   * Id of the tenant of the external identity provider that sent `mfa`. Then `mfa` is only in the `amr` of accounts of this tenant.
   * @default every tenant: the provider belongs to the instance
   */
  readonly mfaIn?: string;
  /**
   * Id of the only tenant whose requests the sign-in answers: requests of clients with this tenant alone in `allowedTenants`, and requests with its `tenant:`.
   * @default every request that the account may answer
   */
  readonly heldTo?: string;
  /**
   * The impersonator (RFC 8693 §4.1): an account of the person who is signed in here, and who does not impersonate already. Their session is set aside
   * until the impersonation ends. The extension has to decide who may impersonate whom. Tokens and introspection have `act`.
   */
  readonly act?: { readonly oid: string; readonly sub: string; readonly tid: string };
  /** Name of the impersonation: the extension's name, a colon, and a name. The member `impersonation` of that extension decides whether it may continue. */
  readonly impersonation?: string;
  /** End of the sign-in, with its session, grants and tokens. With `act`, at most `lifetimes.impersonation` from now. */
  readonly endsAt?: Date;
  /** `false`: the grant has no `offline_access`, and the client gets no refresh token. With `act`, it is always `false`. */
  readonly offline?: false;
  /** Proof of `directory.credentials`. Pages may come between the proof and its use, so it is checked again. */
  readonly proof: Proof;
}

/** An account that a browser knows. */
export interface KnownAccount {
  readonly account: Account;
  /** Whether the account can be selected without a sign-in, because it is signed in, or linked to the account that is. */
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
  /** From the internal client: an invitation lets users create an account here. */
  readonly registration?: RegistrationLimits;
  /** From the internal client. Pass it to `directory.as`, as `metadata`, if the sign-in creates an account. */
  readonly eventMetadata?: EventMetadata;
  /** Parameters of the authorization request. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The sign-in method or provider that the request names by `idp:` in `acr_values`. */
  readonly idp?: string;
  /** Ids of tenants whose users may sign in here, by the client and by `tenant:`. Undefined: all tenants. */
  readonly tids?: readonly string[];
  /** Id of the signed-in user, if there is one. */
  readonly oid?: string;
  /** Name of that user's session in this browser, as in `BrowserSignIn`. */
  readonly session?: string;
  /** Time of that user's sign-in, in seconds since the epoch. */
  readonly authTime?: number;
  /** Id of the user whose credential that sign-in used. */
  readonly owner?: string;
  /** Method of that user's sign-in. */
  readonly signedInBy?: SignInRef;
  /** The impersonator of that user. */
  readonly act?: SignIn['act'];
  /** Whether the application can be sent a response: its redirect URI is still registered. */
  readonly isAnswerable: boolean;
  /** Scopes that the user has not allowed yet. For a claim that is requested by name: the scope that would grant it. */
  readonly missingScopes: readonly string[];
}
