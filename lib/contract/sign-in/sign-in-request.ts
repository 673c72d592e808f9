/** Signing a browser in for an application that speaks another protocol than OpenID Connect. */
import type { Context } from 'koa';
import type { Awaitable } from '../../awaitable.js';
import type { EventMetadata } from '../../events.js';
import type { Branding } from '../../store/records/records.js';
import type { RegistrationLimits, SignIn } from './interaction.js';
import type { BrowserSignIn } from './logout-participant.js';

/** An application that the extension answers itself. To the sign-in it is a client: its name and look are on the pages. */
export interface InternalClient {
  readonly name: string;
  /** The path below the issuer that the browser comes back to: a route of the extension. */
  readonly returnTo: string;
  /** Tenants whose users may sign in; absent: all. */
  readonly allowedTenants?: readonly string[];
  readonly styles?: Branding;
  /** `allow`: signs in who acts as somebody else, too. @default 'refuse' */
  readonly impersonation?: 'allow' | 'refuse';
  /** Users who are invited may create an account on the pages of this sign-in, whatever `signIn.selfRegistration` of the tenant says. @default as the tenant says */
  readonly registration?: RegistrationLimits;
  /** The client of the invitation that the sign-in is part of. Events of accounts that are created at this sign-in name the client. */
  readonly eventMetadata?: EventMetadata;
}

export interface InternalClients {
  /** The application with this id, which begins with the extension's name and a colon; undefined when there is none. Asked often: keep it at hand. */
  find(id: string): Awaitable<InternalClient | undefined>;
}

/** What is asked of the sign-in. */
export interface SignInAsk {
  /** The id of an {@link InternalClient}. */
  readonly client: string;
  /** Comes back with the answer; at most 4096 bytes. */
  readonly state: string;
  /** @see OpenID Connect Core §3.1.2.1 */
  readonly prompt?: 'none' | 'login' | 'select_account' | 'create';
  /** `tenant:`, `idp:`, `mfa`, as at the authorization endpoint. */
  readonly acrValues?: string;
  readonly loginHint?: string;
  /** Seconds since the user proved who they are, at most. */
  readonly maxAge?: number;
  readonly uiLocales?: string;
  /**
   * What the sign-in method is told of, as it came, in the `parameters` of its interaction: a text for an e-ID to show, its format, and who began.
   * @see service specification §4.2, §4.10
   */
  readonly eid?: EidParameters;
  /**
   * A sign-in that was proven on a page of the extension, in this browser and within a minute: it takes the place of the sign-in page, where `prompt` is
   * `login`. Where it holds no more, the page is shown.
   */
  readonly signIn?: ProvenSignIn;
}

/** Parameters of a national e-ID, unchanged. */
export interface EidParameters {
  readonly eid_user_visible_data?: string;
  readonly eid_user_visible_data_format?: 'plaintext' | 'simpleMarkdownV1';
  /** `user`: the person began. `RP`: the application called. */
  readonly eid_call_initiator?: 'user' | 'RP';
}

/** A sign-in with its proof, as {@link SignIn} has it. */
export type ProvenSignIn = Pick<SignIn, 'oid' | 'amr' | 'idp' | 'method' | 'used' | 'mfaIn' | 'heldTo' | 'proof'>;

/** What the browser came back with. */
export type SignInAnswer = { readonly client: string; readonly state: string } & (
  | { readonly signedIn: BrowserSignIn }
  /** An error of OAuth or OpenID Connect: `access_denied`, `login_required` … */
  | { readonly error: string; readonly description?: string }
);

/** A form for another site. */
export interface OutgoingForm {
  /** An http or https URL. */
  readonly action: string;
  /** One with a list is sent once for each of its values. */
  readonly fields: Readonly<Record<string, string | readonly string[]>>;
  /** The id of the application whose name and look the page has. */
  readonly client?: string;
}

/** A form that another site had the browser post here: cookies come along with the GET that it is sent on as. */
export interface PostedForms {
  /**
   * Keeps the form, sealed and for a minute, and answers 303 to the path with a reference that works once.
   * @param path below the issuer.
   * @param names of the fields that are kept. @default all
   * @throws Error with status 413 for more than 16 KiB, 415 for a body that is no form.
   */
  sendOn(ctx: Context, path: string, names?: readonly string[]): Promise<void>;
  /** The form that the request's reference stands for; undefined for a spent one, and for one that was sent on to another path. */
  take(ctx: Context): Promise<Readonly<Record<string, string | readonly string[]>> | undefined>;
}
