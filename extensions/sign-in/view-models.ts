/** What each page shows: plain data, the same for the HTML pages and for a host's own. */
import type { Branding, ButtonScript, ViewPart } from '../../lib/extension-door.js';
import type { Locale } from './texts/index.js';

/** What is wrong with what was sent: the key of the text that says so. */
export type Problem =
  | 'identifier.missing'
  | 'password.missing'
  | 'credentials.mismatch'
  | 'account.unconfirmed'
  | 'attempts.exceeded'
  | 'organisation.missing'
  | 'busy';

/** What is wrong with a field of a new account: its name comes first. */
export type RegistrationProblem =
  | 'givenName.invalid'
  | 'familyName.invalid'
  | 'email.invalid'
  | 'email.taken'
  | 'password.weak'
  | 'password.easy'
  | 'password.leaked';

/** `attempts.exceeded` says how long to wait, in minutes. */
type Problems<Code extends Problem> =
  | { readonly problem?: Exclude<Code, 'attempts.exceeded'>; readonly minutes?: number }
  | { readonly problem: Extract<Code, 'attempts.exceeded'>; readonly minutes: number };

interface Form {
  /** Where the form is posted to. */
  readonly action: string;
  /** Comes back as the field `csrf`. */
  readonly csrf: string;
  /** Where the form is posted to instead by who does not go on; absent: the application cannot be answered. */
  readonly cancel?: string;
}

/** Hidden fields by name; one with a list is there once for each of its values. */
export type Fields = Readonly<Record<string, string | readonly string[]>>;

/** What the authorization server saw, for whoever integrates a client; not for production. */
export interface DeveloperDetail {
  readonly error: string;
  readonly description?: string;
  readonly detail?: string;
}

export interface OrganisationChoice {
  /** Comes back as the field `choice`. */
  readonly value: string;
  readonly tenantName: string;
  readonly personName: string;
  readonly userName: string;
}

export interface AccountChoice extends OrganisationChoice {
  /** Whether it takes no sign-in. */
  readonly isSignedIn: boolean;
}

export interface ConsentScope {
  readonly name: string;
  /** Shown for scopes that have no text of their own: one for all languages, or for some. */
  readonly description?: string | Readonly<Record<string, string>>;
  /** The API that it opens, for a scope without a description. */
  readonly api?: string;
}

/** A part of a page of an extension, with its words in the page's language. */
export type PartModel = ViewPart<string>;

interface PageModels {
  /** Posts `identifier`, or `idp` to the `action` of `others`. With `isElsewhere`, one of these is all that there is. */
  identifier: Form & {
    readonly identifier?: string;
    readonly isElsewhere?: true;
    /** Who is signed in, and has no account at the organisation that is asked for. */
    readonly outside?: { readonly userName: string; readonly tenantName: string } | undefined;
    /** Leads to the page for a new account; absent where people may not create one. */
    readonly create?: string;
    readonly others?: {
      readonly action: string;
      readonly buttons: readonly {
        readonly idp: string;
        readonly label: Readonly<Record<Locale, string>>;
        readonly script?: ButtonScript;
      }[];
    };
  } & Problems<'identifier.missing' | 'attempts.exceeded' | 'busy'>;
  /** Posts `identifier` and `password`, and `organisation` when it asks for it; `restart` goes back to the identifier. */
  password: Form & {
    readonly identifier: string;
    readonly restart: string;
    /** What the person calls their organisation; asked for when it is there, if empty. */
    readonly organisation?: string;
  } & Problems<'identifier.missing' | 'password.missing' | 'credentials.mismatch' | 'account.unconfirmed' | 'attempts.exceeded' | 'busy'>;
  /** Posts `choice`, or `forget`; `other` leads to the identifier. */
  accounts: Form & { readonly choices: readonly AccountChoice[]; readonly other: string };
  /** Posts `givenName`, `familyName`, `email` and `password`, of so many characters at least; `signIn` is for who has an account. */
  create: Form & {
    readonly givenName?: string;
    readonly familyName?: string;
    readonly email?: string;
    readonly passwordLength: number;
    readonly signIn: string;
    /** All that is wrong with the fields, in their order. */
    readonly problems?: readonly RegistrationProblem[];
  } & Problems<'attempts.exceeded' | 'busy'>;
  /** Posts `choice`; or `back`, to the identifier; or `find` with `search`, where there are many: `all` is a hidden field then. */
  organisation: Form & {
    /** The name that was typed, kept as a hidden field. */
    readonly identifier: string;
    readonly find?: { readonly search: string; readonly all: string };
    readonly choices: readonly OrganisationChoice[];
    readonly problem?: 'organisation.missing' | 'busy';
  };
  /** Posts `decision`: `allow` or `deny`. `other` leads to the accounts. With `isMore`, something was allowed before. */
  consent: Form & {
    readonly scopes: readonly ConsentScope[];
    readonly other?: string;
    readonly isMore?: true;
    readonly personName: string;
    readonly userName: string;
    readonly tenantName: string;
  };
  /** Posts the fields, and `logout=yes` unless the answer is to stay. */
  logout: { readonly action: string; readonly fields: Fields; readonly personName?: string; readonly appName?: string };
  /** Sends the fields on at once. `action` is http(s). */
  continue: { readonly action: string; readonly fields: Fields; readonly method: 'get' | 'post' };
  /** With `next`, the browser goes on there once the applications in `frames` were told; else their names join `unanswered` if they are silent. */
  'signed-out': {
    readonly returnUrl?: string;
    readonly frames?: readonly { readonly uri: string; readonly name: string }[];
    readonly unanswered?: readonly string[];
    readonly next?: string;
  };
  /** `title` and `message` are our own words, in the page's language. */
  error: {
    readonly title?: string;
    readonly message?: string;
    readonly code?: string;
    readonly restart?: string;
    readonly developer?: DeveloperDetail;
  };
  /** `restart` is posted when it has a token, else followed. */
  expired: { readonly restart?: { readonly action: string; readonly csrf?: string }; readonly clientUri?: string };
  unavailable: object;
  /** Page for a form that was sent twice, while the first request is still evaluated. */
  'under-way': object;
  /** Page for a browser that sends no cookies. */
  'no-cookies': { readonly restart?: string };
  /** A sign-in that this browser knows nothing of. */
  'wrong-link': object;
  /** What was asked for is for the user alone, and somebody acts as the user. */
  impersonation: object;
  /** A page of an extension. With `form`, all its parts are in one; `csrf` is one of the fields. */
  view: {
    readonly title: string;
    readonly lead?: string;
    readonly problem?: string;
    readonly form?: { readonly action: string; readonly fields: Fields; readonly cancel?: string };
    readonly parts: readonly PartModel[];
    readonly script?: string;
  };
  /** In development alone: what the service is, and where a sign-in begins. */
  welcome: {
    readonly issuer: string;
    readonly discovery: string;
    /** `signIn` begins one, where a link can. */
    readonly clients: readonly { readonly name: string; readonly signIn?: string }[];
  };
}

export type PageName = keyof PageModels;

/** The view model of a page, told apart by `page`. */
export type PageView<Name extends PageName = PageName> = {
  [Each in Name]: { readonly page: Each } & PageModels[Each];
}[Name];

/** What surrounds every page. */
export interface PageFrame {
  readonly locale: Locale;
  /** `uri` is where an error page leads back to; the others are what the application says of itself. */
  readonly client?: { readonly name: string; readonly uri?: string; readonly policyUri?: string; readonly termsUri?: string };
  readonly tenant?: { readonly name: string };
  readonly branding?: Branding;
  /** Finds the request in the log; shown where something went wrong. */
  readonly reference?: string;
  /** Words and links of extensions on a sign-in's page: at its foot, or beside the password, where `href` is posted to. */
  readonly additions?: readonly {
    readonly name: string;
    readonly place: 'foot' | 'password';
    readonly text: string;
    readonly href?: string;
  }[];
  /** Somebody acts as somebody else in this browser; `endAt` leads to where it can be ended. */
  readonly impersonation?: { readonly actor: string; readonly user: string; readonly endAt?: string };
  /** Offers the other languages. */
  readonly languages?: LanguageMenu;
}

export interface LanguageMenu {
  /** Those of the service. */
  readonly locales: readonly Locale[];
  /** Where a link leads but for its `ui_locales`, which comes last: this page, or the one that its sign-in is at. */
  readonly link: string;
  /** For a page that a form brought about: the form that brings it about again, with `ui_locales`. */
  readonly form?: { readonly action: string; readonly fields: Fields };
}
