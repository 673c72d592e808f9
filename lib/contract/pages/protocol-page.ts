/** Pages of the protocol that an extension draws. */
import type { Context } from 'koa';
import type { Client } from '../../store/records/records.js';
import type { View } from './view.js';

/** A page that the protocol needs and an extension draws. */
export type ProtocolPage =
  | {
      readonly page: 'error';
      readonly status: number;
      /** The OAuth error code. */
      readonly error: string;
      /** Description for developers, shown only outside production. */
      readonly description?: string;
      /** Lines of text with more detail than `description`. Absent in production. */
      readonly detail?: string;
      readonly reference: string;
      readonly client?: Client;
    }
  /** The sign-in cannot continue. `restart` is the URL that restarts it. */
  | { readonly page: 'expired'; readonly restart?: string; readonly client?: Client }
  /** Asks whether to sign the user out. The form posts `fields`, and `logout=yes` for yes. */
  | { readonly page: 'logout'; readonly action: string; readonly fields: Readonly<Record<string, string>>; readonly client?: Client }
  | {
      readonly page: 'signed-out';
      readonly client?: Client;
      /** Clients that the browser has to call by hidden frames. @see OpenID Connect Front-Channel Logout 1.0 §2 */
      readonly frames?: readonly { readonly uri: string; readonly name: string }[];
      /** Names of clients that have not answered yet. */
      readonly unanswered?: readonly string[];
      /** URL to continue at after the frames were called. */
      readonly next?: string;
    }
  /** The user is signed in with this browser: the user chose to stay signed in, or opened the URL of the page `signed-out`. */
  | { readonly page: 'still-signed-in'; readonly client?: Client }
  /** Sends the browser to another site by a form that submits itself. Names and values of the form come from outside. */
  | {
      readonly page: 'continue';
      readonly action: string;
      /** A field with a list is sent once for each value. */
      readonly fields: Readonly<Record<string, string | readonly string[]>>;
      readonly client?: Client;
    }
  | { readonly page: 'unavailable' }
  /** A form was sent twice, and the first request is still evaluated. */
  | { readonly page: 'under-way' }
  /** The browser stores or sends no cookies. `restart` is the URL that restarts the sign-in. */
  | { readonly page: 'no-cookies'; readonly restart?: string; readonly client?: Client }
  /** Only the user may do this, and an impersonator is signed in. */
  | { readonly page: 'impersonation' }
  /** This browser does not know the sign-in: the URL is wrong, or the sign-in has expired. */
  | { readonly page: 'wrong-link' }
  /** No page of the service has the path of the request. */
  | { readonly page: 'not-found' }
  /** A page of an extension. */
  | { readonly page: 'view'; readonly view: View }
  /** The first page of a service in development. `signIn` is the URL that starts a sign-in, if there is such a URL. */
  | {
      readonly page: 'welcome';
      readonly issuer: string;
      readonly discovery: string;
      readonly clients: readonly { readonly id: string; readonly name: string; readonly signIn?: string }[];
    };

/** Sets the whole response. */
export type ShowPage = (ctx: Context, page: ProtocolPage) => void | Promise<void>;
