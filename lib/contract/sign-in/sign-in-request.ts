/** Sign-in for an application of another protocol than OpenID Connect. */
import type { Context } from 'koa';
import type { Awaitable } from '../../awaitable.js';
import type { EventMetadata } from '../../events.js';
import type { Branding } from '../../store/records/records.js';
import type { RegistrationLimits, SignIn } from './interaction.js';
import type { BrowserSignIn } from './logout-participant.js';

/** An internal client: an application that the extension answers itself. In a sign-in, an internal client is a client with a name and a look. */
export interface InternalClient {
  /** @default the host of the issuer. Pages say “your account” for a page of the service without a name */
  readonly name?: string;
  /** Path below the issuer that the browser returns to: a route of the extension. */
  readonly returnTo: string;
  /** Ids of tenants whose users may sign in. @default all tenants */
  readonly allowedTenants?: readonly string[];
  readonly styles?: Branding;
  /**
   * True for a page of the service itself, such as a section of the account page. The account page names no such client among the applications of a user.
   * `createOwnPage` sets it. @default false: an application of another protocol
   */
  readonly isPage?: boolean;
  /** `allow`: impersonated users may sign in too. @default 'refuse' */
  readonly impersonation?: 'allow' | 'refuse';
  /**
   * Lets invited users create an account on the pages of this sign-in, even if the tenant's `signIn.selfRegistration` does not. @default as the tenant's
   * policy states
   */
  readonly registration?: RegistrationLimits;
  /** The client of the invitation that the sign-in is part of. Events of accounts that are created at this sign-in name the client. */
  readonly eventMetadata?: EventMetadata;
}

export interface InternalClients {
  /**
   * Returns the internal client of an id, which begins with the extension's name and a colon. Undefined if there is no such client. Keep the answer in
   * memory, because the service calls this method often.
   */
  find(id: string): Awaitable<InternalClient | undefined>;
}

/** A request for a sign-in. */
export interface SignInAsk {
  /** The id of an {@link InternalClient}. */
  readonly client: string;
  /** Value that comes back with the answer; at most 4096 bytes. */
  readonly state: string;
  /** @see OpenID Connect Core §3.1.2.1 */
  readonly prompt?: 'none' | 'login' | 'select_account' | 'create';
  /** Values `tenant:`, `idp:` and `mfa`, as at the authorization endpoint. */
  readonly acrValues?: string;
  readonly loginHint?: string;
  /** Maximum seconds since the user's proof. */
  readonly maxAge?: number;
  readonly uiLocales?: string;
  /**
   * Values for the sign-in method, unchanged, in the `parameters` of the interaction. The values are a text for an e-ID to show, the format of the text,
   * and the party that began.
   * @see service specification §4.2, §4.10
   */
  readonly eid?: EidParameters;
  /**
   * A sign-in that was proven on a page of the extension, in this browser and within a minute. The sign-in replaces the sign-in page if `prompt` is
   * `login`. If the proof is no longer valid, the sign-in page is shown.
   */
  readonly signIn?: ProvenSignIn;
}

/** Parameters of a national e-ID, unchanged. */
export interface EidParameters {
  readonly eid_user_visible_data?: string;
  readonly eid_user_visible_data_format?: 'plaintext' | 'simpleMarkdownV1';
  /** `user`: the person began. `RP`: the application began. */
  readonly eid_call_initiator?: 'user' | 'RP';
}

/** A sign-in with its proof, as {@link SignIn} has it. */
export type ProvenSignIn = Pick<SignIn, 'oid' | 'amr' | 'idp' | 'method' | 'used' | 'mfaIn' | 'heldTo' | 'proof'>;

/** Answer with which the browser returned. */
export type SignInAnswer = { readonly client: string; readonly state: string } & (
  | { readonly signedIn: BrowserSignIn }
  /** An error of OAuth or OpenID Connect: `access_denied`, `login_required` … */
  | { readonly error: string; readonly description?: string }
);

/** A form for another site. */
export interface OutgoingForm {
  /** An http or https URL. */
  readonly action: string;
  /** A field with a list is sent once for each value. */
  readonly fields: Readonly<Record<string, string | readonly string[]>>;
  /** Id of the internal client whose name and look the page has. */
  readonly client?: string;
}

/**
 * Forms that other sites have the browser post here. The service redirects the browser by GET, because browsers send the service's cookies only with the
 * GET request.
 */
export interface PostedForms {
  /**
   * Stores the form, encrypted and for a minute. Answers 303 to the path, with a reference that can be used once.
   * @param path below the issuer.
   * @param names of the fields to store. @default all
   * @throws Error with status 413 for more than 16 KiB, 415 for a body that is not a form.
   */
  sendOn(ctx: Context, path: string, names?: readonly string[]): Promise<void>;
  /** Returns the form of the request's reference; undefined for a used reference, and for a form that was sent to another path. */
  take(ctx: Context): Promise<Readonly<Record<string, string | readonly string[]>> | undefined>;
}
