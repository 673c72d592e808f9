/** Pages that the service has to show and leaves to an extension. */
import type { Context } from 'koa';
import type { Client } from '../../store/records/records.js';
import type { View } from './view.js';

/** A page the protocol has to show and leaves to an extension. */
export type ProtocolPage =
  | {
      readonly page: 'error';
      readonly status: number;
      /** The OAuth error code. */
      readonly error: string;
      /** For developers: shown outside production only. */
      readonly description?: string;
      /** Lines of text that say more than `description`. Absent in production. */
      readonly detail?: string;
      readonly reference: string;
      readonly client?: Client;
    }
  /** A sign-in that cannot go on. With `restart`, the URL that begins it anew. */
  | { readonly page: 'expired'; readonly restart?: string; readonly client?: Client }
  /** May the user be signed out? Its form posts `fields`, and `logout=yes` for yes. */
  | { readonly page: 'logout'; readonly action: string; readonly fields: Readonly<Record<string, string>>; readonly client?: Client }
  | {
      readonly page: 'signed-out';
      readonly client?: Client;
      /** Applications that the browser has to call by hidden frames. @see OpenID Connect Front-Channel Logout 1.0 §2 */
      readonly frames?: readonly { readonly uri: string; readonly name: string }[];
      /** Names of applications that did not answer so far. */
      readonly unanswered?: readonly string[];
      /** Where to go on once the frames were called. */
      readonly next?: string;
    }
  /** Hands the browser over with a form that submits itself. Names and values come from outside. */
  | {
      readonly page: 'continue';
      readonly action: string;
      /** One with a list is sent once for each of its values. */
      readonly fields: Readonly<Record<string, string | readonly string[]>>;
      readonly client?: Client;
    }
  | { readonly page: 'unavailable' }
  /** A form was sent twice, and the first request is still evaluated. */
  | { readonly page: 'under-way' }
  /** The browser stores or sends no cookies. `restart` is the URL that restarts the sign-in. */
  | { readonly page: 'no-cookies'; readonly restart?: string; readonly client?: Client }
  /** What was asked for is for the user alone, and somebody acts as the user here. */
  | { readonly page: 'impersonation' }
  /** A sign-in that this browser knows nothing of: a link that is wrong, or too old to tell. */
  | { readonly page: 'wrong-link' }
  /** A page of an extension. */
  | { readonly page: 'view'; readonly view: View }
  /** The first page of a service in development. `signIn` begins one, where a link can. */
  | {
      readonly page: 'welcome';
      readonly issuer: string;
      readonly discovery: string;
      readonly clients: readonly { readonly name: string; readonly signIn?: string }[];
    };

/** Sets the whole response. */
export type ShowPage = (ctx: Context, page: ProtocolPage) => void | Promise<void>;
