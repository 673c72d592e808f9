/** View models: the content of each page as plain data, for the HTML pages and for a host's own pages. */
import type { Branding, ButtonScript, ViewPart } from '../../lib/extension-door.js';
import type { Locale } from './texts/index.js';

/** Key of the text about an invalid form. */
export type Problem =
  | 'identifier.missing'
  | 'password.missing'
  | 'credentials.mismatch'
  | 'account.unconfirmed'
  | 'attempts.exceeded'
  | 'organisation.missing'
  | 'busy';

/** Problem of a field of a new account. The name of the field comes first. */
export type RegistrationProblem =
  | 'givenName.invalid'
  | 'familyName.invalid'
  | 'email.invalid'
  | 'email.taken'
  | 'password.weak'
  | 'password.easy'
  | 'password.leaked';

/** With `attempts.exceeded`, the minutes to wait. */
type Problems<Code extends Problem> =
  | { readonly problem?: Exclude<Code, 'attempts.exceeded'>; readonly minutes?: number }
  | { readonly problem: Extract<Code, 'attempts.exceeded'>; readonly minutes: number };

interface Form {
  /** Address to which the form is posted. */
  readonly action: string;
  /** Value of the posted field `csrf`. */
  readonly csrf: string;
  /** Address to which a user who cancels posts the form. Absent if the application cannot be answered. */
  readonly cancel?: string;
}

/** Hidden fields by name. A field with a list occurs once for each value. */
export type Fields = Readonly<Record<string, string | readonly string[]>>;

/** Details that the authorization server saw, for developers of a client. Not for production. */
export interface DeveloperDetail {
  readonly error: string;
  readonly description?: string;
  readonly detail?: string;
}

export interface OrganisationChoice {
  /** Value of the posted field `choice`. */
  readonly value: string;
  readonly tenantName: string;
  readonly personName: string;
  readonly userName: string;
}

export interface AccountChoice extends OrganisationChoice {
  /** Whether the account is signed in, so that it needs no password. */
  readonly isSignedIn: boolean;
}

export interface ConsentScope {
  readonly name: string;
  /** Description of a scope without its own text: one description for all languages, or one per language. */
  readonly description?: string | Readonly<Record<string, string>>;
  /** API resource of the scope, for a scope without a description. */
  readonly api?: string;
  /** Data of the user that the application gets by the scope, such as the e-mail address. */
  readonly data?: readonly string[];
}

/** Part of a page of an extension, with its texts in the page's language. */
export type PartModel = ViewPart<string>;

interface PageModels {
  /** Posts `identifier`, or `idp` to the `action` of `others`. With `isElsewhere`, only the `idp` buttons sign in. */
  identifier: Form & {
    readonly identifier?: string;
    readonly isElsewhere?: true;
    /** Signed-in user without an account at the requested organisation. */
    readonly outside?: { readonly userName: string; readonly tenantName: string } | undefined;
    /** Link to the page for a new account. Absent if users may not create an account. */
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
  /** Posts `identifier`, `password`, and `organisation` if the page asks for it. `restart` leads back to the identifier. */
  password: Form & {
    readonly identifier: string;
    readonly restart: string;
    /** Organisation that the user typed. If present, even empty, the page asks for it. */
    readonly organisation?: string;
  } & Problems<'identifier.missing' | 'password.missing' | 'credentials.mismatch' | 'account.unconfirmed' | 'attempts.exceeded' | 'busy'>;
  /** Posts `choice` or `forget`. `other` leads to the identifier. */
  accounts: Form & { readonly choices: readonly AccountChoice[]; readonly other: string };
  /** Posts `givenName`, `familyName`, `email` and `password`. `passwordLength` is the minimum length. `signIn` is for users who have an account. */
  create: Form & {
    readonly givenName?: string;
    readonly familyName?: string;
    readonly email?: string;
    readonly passwordLength: number;
    readonly signIn: string;
    /** Problems of the fields, in their order. */
    readonly problems?: readonly RegistrationProblem[];
  } & Problems<'attempts.exceeded' | 'busy'>;
  /** Posts `choice`, or `back` to the identifier. With many organisations, it posts `find` with `search`, and the hidden field `all`. */
  organisation: Form & {
    /** Typed name, repeated as a hidden field. */
    readonly identifier: string;
    readonly find?: { readonly search: string; readonly all: string };
    readonly choices: readonly OrganisationChoice[];
    readonly problem?: 'organisation.missing' | 'busy';
  };
  /** Posts `decision`: `allow` or `deny`. `other` leads to the account chooser. With `isMore`, the user allowed other scopes before. */
  consent: Form & {
    readonly scopes: readonly ConsentScope[];
    readonly other?: string;
    readonly isMore?: true;
    /** Page of the account on which the user withdraws the consent. */
    readonly withdraw?: string;
    readonly personName: string;
    readonly userName: string;
    readonly tenantName: string;
  };
  /** Posts the fields, and `logout=yes` unless the user chooses to stay. */
  logout: { readonly action: string; readonly fields: Fields; readonly personName?: string; readonly appName?: string };
  /** Posts the fields on immediately. `action` is http(s). */
  continue: { readonly action: string; readonly fields: Fields; readonly method: 'get' | 'post' };
  /**
   * With `next`, the browser continues there after the applications in `frames` were notified. Without `next`, the page adds the applications that do not
   * answer to the applications in `unanswered`.
   */
  'signed-out': {
    /** Link back to the application. */
    readonly returnUrl?: string;
    /** Link to a new sign-in, if the application has no link. */
    readonly signIn?: string;
    readonly frames?: readonly { readonly uri: string; readonly name: string }[];
    readonly unanswered?: readonly string[];
    readonly next?: string;
  };
  /** `returnUrl` leads back to the application. `account` leads to the account page, if the application has no link. */
  'still-signed-in': { readonly returnUrl?: string; readonly account: string };
  /** `title` and `message` are texts of the service, in the page's language. */
  error: {
    readonly title?: string;
    readonly message?: string;
    readonly code?: string;
    readonly restart?: string;
    readonly developer?: DeveloperDetail;
  };
  /** The page posts `restart` if `restart` has a token. Otherwise `restart` is a link. */
  expired: { readonly restart?: { readonly action: string; readonly csrf?: string }; readonly clientUri?: string };
  unavailable: object;
  /** Page for a form that was sent twice, while the first request is still evaluated. */
  'under-way': object;
  /** Page for a browser that sends no cookies. */
  'no-cookies': { readonly restart?: string };
  /** Page for a sign-in that this browser does not know. */
  'wrong-link': object;
  /** Page for a path that does not exist. `account` leads to the account page. */
  'not-found': { readonly account?: string };
  /** Page for a request that an impersonator may not make, because only the user may. */
  impersonation: object;
  /** Page of an extension. With `form`, all parts are in one form, and `csrf` is one of its fields. */
  view: {
    readonly title: string;
    readonly lead?: string;
    readonly problem?: string;
    readonly form?: { readonly action: string; readonly fields: Fields; readonly cancel?: string };
    readonly parts: readonly PartModel[];
    readonly script?: string;
  };
  /** Page in development only: describes the service, and links to sign-ins. */
  welcome: {
    readonly issuer: string;
    readonly discovery: string;
    /** `signIn` is the link that starts a sign-in, if the client has one. */
    readonly clients: readonly { readonly id: string; readonly name: string; readonly signIn?: string }[];
  };
}

export type PageName = keyof PageModels;

/** View model of a page. `page` distinguishes the view models. */
export type PageView<Name extends PageName = PageName> = {
  [Each in Name]: { readonly page: Each } & PageModels[Each];
}[Name];

/** Frame of every page. */
export interface PageFrame {
  readonly locale: Locale;
  /** `uri` is the link back from an error page. The client's metadata contains the other links. */
  readonly client?: { readonly name: string; readonly uri?: string; readonly policyUri?: string; readonly termsUri?: string };
  /** Whether the sign-in continues to the service's own pages of the user. Then `client` is absent. */
  readonly isForAccount?: true;
  readonly tenant?: { readonly name: string };
  /** Whether the page is a step of a sign-in, which continues to the client. */
  readonly isStep?: true;
  readonly branding?: Branding;
  /** Link to the account page, on the user's own pages below it. */
  readonly account?: string;
  /** Id of the request in the log. Shown on pages about a failure. */
  readonly reference?: string;
  /** Texts and links of extensions on a page of a sign-in, at its foot or next to the password. Next to the password, the form is posted to `href`. */
  readonly additions?: readonly {
    readonly name: string;
    readonly place: 'foot' | 'password';
    readonly text: string;
    readonly href?: string;
  }[];
  /** Impersonator and impersonated user of this browser. `endAt` links to the page that ends the impersonation. */
  readonly impersonation?: { readonly actor: string; readonly user: string; readonly endAt?: string };
  /** Field because of which the page is shown again, and what the user typed into the fields of the form. */
  readonly tooLong?: { readonly name: string; readonly longest: number; readonly typed: (name: string) => string | undefined };
  /** Links to the page in other languages. */
  readonly languages?: LanguageMenu;
}

export interface LanguageMenu {
  /** Languages of the service. */
  readonly locales: readonly Locale[];
  /** Link to this page, or to the present page of its sign-in. The value of `ui_locales` comes last. */
  readonly link: string;
  /** For a page after a form: the form that shows it again, with `ui_locales`. */
  readonly form?: { readonly action: string; readonly fields: Fields };
}
