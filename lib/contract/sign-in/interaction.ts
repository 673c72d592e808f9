/**
 * Sign-in as extensions see it: methods, requirements, requests for a sign-in, participants in a logout.
 *
 * This file is the interaction, a sign-in that waits for a person, and what its page can learn of it. `interactions` are the steps that a page
 * may take with it.
 */
import type { Account, Proof, SignInRef } from '../../directory/index.js';
import type { EventMetadata } from '../../events.js';
import type { Client } from '../../store/records/records.js';

/** Accounts that invited users may create for one internal client. */
export interface RegistrationLimits {
  /** Accounts in a day, at most. */
  readonly accounts: number;
  /** Maximum submitted forms in a day, because each form causes a mail, or shows whether a name exists. */
  readonly forms: number;
}

/** How the user proved who they are. */
export interface SignIn {
  /** The user that becomes active. */
  readonly oid: string;
  readonly amr: readonly string[];
  /** `local`, or the external identity provider. */
  readonly idp: string;
  /** What a tenant's `signIn.methods` calls it. @default `password` for `local`, else the `idp` */
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
   * Who acts as the user (RFC 8693 §4.1): an account of the person who is signed in here, who acts as nobody else yet. Their session is set aside until
   * the impersonation ends; what is allowed to whom is for the extension to decide. Tokens and introspection say it.
   */
  readonly act?: { readonly oid: string; readonly sub: string; readonly tid: string };
  /** Names the impersonation for the `impersonation` of the extension, which is asked whether it may go on: the extension's name, a colon, and a name of its own. */
  readonly impersonation?: string;
  /** When the sign-in ends, with its session, grants and tokens. With `act`: `lifetimes.impersonation` from now, at the latest. */
  readonly endsAt?: Date;
  /** Takes `offline_access` from what is granted: no refresh tokens. With `act`: always. */
  readonly offline?: false;
  /** Of `directory.credentials`: pages may have come between the proof and its use. */
  readonly proof: Proof;
}

/** An account that a browser knows. */
export interface KnownAccount {
  readonly account: Account;
  /** Whether it takes no sign-in: it is the current one, or linked to it. */
  readonly isSignedIn: boolean;
}

/** A step of a sign-in that waits for the user. */
export interface Interaction {
  readonly uid: string;
  /** The browser that it belongs to: the hash of a secret that no other knows. */
  readonly browser: string;
  readonly prompt: 'login' | 'consent' | 'select_account' | 'create' | 'requirement';
  /** The requirement whose page is wanted, where `prompt` says so. */
  readonly requirement?: string;
  readonly client: Client;
  /** Whether an extension asks, by `signIn.require`, and not an application by a request of its own. @default false */
  readonly isInternal?: boolean;
  /** As the internal client says: an invitation lets users create an account here. */
  readonly registration?: RegistrationLimits;
  /** As the internal client says: pass it to `directory.as`, as `metadata`, where the sign-in creates an account. */
  readonly eventMetadata?: EventMetadata;
  /** The authorization request. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The sign-in method or provider that the request asks for, by `idp:` in `acr_values`. */
  readonly idp?: string;
  /** Tenants whose users may sign in here, by the client and `tenant:`; undefined: all. */
  readonly tids?: readonly string[];
  /** The user that is signed in, if any. */
  readonly oid?: string;
  /** Names that user's session in this browser, as in `BrowserSignIn`. */
  readonly session?: string;
  /** When that user signed in, in seconds since the epoch. */
  readonly authTime?: number;
  /** The user whose credential that sign-in rests on. */
  readonly owner?: string;
  /** How that user signed in. */
  readonly signedInBy?: SignInRef;
  /** Who acts as that user. */
  readonly act?: SignIn['act'];
  /** Whether the application can be sent a response: its redirect URI is still registered. */
  readonly isAnswerable: boolean;
  /** Scopes the user has not allowed yet; for a claim that is asked for by itself, the scope that would grant it. */
  readonly missingScopes: readonly string[];
}
