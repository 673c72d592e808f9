/** Every page in every state, with ordinary and with awkward content. */
import type { Locale } from '../../../extensions/sign-in/texts/index.js';
import { locales } from '../../../extensions/sign-in/texts/locale.js';
import type { LanguageMenu, PageFrame, PageView, PartModel } from '../../../extensions/sign-in/view-models.js';
import { galleryOfExtensions } from './gallery-of-extensions.js';

export interface GalleryPage {
  readonly name: string;
  readonly view: PageView;
  readonly frame: PageFrame;
}

const frame: PageFrame = {
  locale: 'en',
  client: { name: 'Acme Orders' },
  tenant: { name: 'Acme Industries AS' },
  isStep: true,
  reference: '0198f1c2-7d3e-7a41',
  languages: { locales, link: '?ui_locales=' },
};

/** Long names in the language with the longest words. */
const long: PageFrame = {
  ...frame,
  locale: 'de',
  client: { name: 'Kommunenes Sentralforbund Saksbehandling' },
  tenant: { name: 'Interkommunales Rechenzentrum für Verwaltungsdigitalisierung' },
};
const longUserName = 'maximiliane.bartholomaeus-schwarzenberger+fachverwaltung@example';

/** Links at the foot of each page. */
const links = { privacyUri: 'https://acme.test/privacy', termsUri: 'https://acme.test/terms', helpUri: '/help' };

const form = { action: '/interaction/1', csrf: 'token', cancel: '/interaction/1/cancel' };
const alice = { personName: 'Alice Andersen', userName: 'alice@acme.test', tenantName: 'Acme Industries AS' };
const identifier = { page: 'identifier', ...form } as const;
const labelled = (name: string) => Object.fromEntries(locales.map((locale) => [locale, name])) as Record<Locale, string>;
const additions = [
  { name: 'privacy', place: 'foot', text: 'Privacy', href: 'https://acme.test/privacy' },
  { name: 'phone', place: 'foot', text: 'Help is at 800 00 000' },
  { name: 'help', place: 'foot', text: 'Help', href: '/help' },
  { name: 'forgotten-password', place: 'password', text: 'Forgotten password?', href: '/interaction/1/forgotten' },
] as const;
const view = {
  page: 'view',
  title: 'Terms of service',
  lead: 'of Acme Industries AS',
  form: { ...form, fields: { csrf: 'token' } },
  parts: [
    { part: 'text', text: 'They changed on 1 May.' },
    { part: 'list', items: ['Be kind.', 'Keep your password to yourself.'] },
    { part: 'link', text: 'Read all of them', href: 'https://acme.test/terms' },
    { part: 'field', name: 'code', label: 'Code', kind: 'code' },
    { part: 'check', name: 'agree', label: 'I have read them and I agree' },
    { part: 'choices', name: 'as', choices: [{ value: '1', title: 'Alice Andersen', lines: ['alice@acme.test'], isPerson: true }] },
    { part: 'button', text: 'Accept' },
    { part: 'button', text: 'Not now', name: 'later', value: 'yes', look: 'quiet' },
  ] satisfies readonly PartModel[],
} as const;
const others = {
  action: '/interaction/1/method',
  buttons: [
    { idp: 'eid', label: labelled('Sign in with e-ID') },
    { idp: 'contoso', label: labelled('Sign in at Contoso Verwaltungsdigitalisierung und Rechenzentrum') },
  ],
};
const password = { page: 'password', ...form, identifier: 'alice@acme.test', restart: '/interaction/1' } as const;
const choices = [
  { value: '1', ...alice },
  { value: '2', personName: 'Alice Andersen', userName: 'alice@globex.test', tenantName: 'Globex' },
];
const create = { page: 'create', ...form, passwordLength: 15, signIn: '/interaction/1?restart=yes' } as const;
const filled = { givenName: 'Alice', familyName: 'Andersen', email: 'alice@acme.test' };
const consent = {
  page: 'consent',
  ...form,
  ...alice,
  scopes: [
    { name: 'openid' },
    { name: 'profile', data: ['Alice Andersen'] },
    { name: 'email', data: ['alice@acme.test', 'alice.andersen@home.test'] },
    { name: 'org' },
    { name: 'offline_access' },
    { name: 'orders.read', description: 'Read your orders' },
    { name: 'orders.write' },
  ],
} as const;
const handOver = { page: 'continue', action: '/stay', fields: { code: 'c0de', state: 's' } } as const;
const developer = {
  error: 'invalid_redirect_uri',
  description: "redirect_uri did not match any of the client's registered redirect_uris",
  detail: 'received https://app.example.com/callback?x=1\nregistered https://app.example.com/callback',
};

export const gallery: readonly GalleryPage[] = [
  { name: 'identifier', view: identifier, frame },
  {
    name: 'welcome',
    view: {
      page: 'welcome',
      issuer: 'http://localhost:3000',
      discovery: '/discovery',
      clients: [
        { id: 'web', name: 'Web', signIn: '/authorize' },
        { id: 'nightly-export', name: 'Nightly export' },
      ],
    },
    frame: { locale: 'en', languages: { locales, link: '?ui_locales=' } },
  },
  {
    name: 'welcome-empty',
    view: { page: 'welcome', issuer: 'http://localhost:3000', discovery: '/d', clients: [] },
    frame: { locale: 'fi' },
  },
  {
    name: 'password-languages',
    view: password,
    frame: { ...frame, languages: { locales, link: '/i?ui_locales=', form: { action: '/i/identifier', fields: { csrf: 'token' } } } },
  },
  { name: 'identifier-others', view: { ...identifier, others }, frame },
  { name: 'identifier-create', view: { ...identifier, create: '/interaction/1/create' }, frame: { ...frame, additions } },
  { name: 'view', view, frame: { ...frame, additions } },
  {
    name: 'view-problem',
    view: { ...view, parts: view.parts.map((part) => (part.part === 'field' ? { ...part, problem: 'Not that.' } : part)) },
    frame: long,
  },
  {
    name: 'view-choice',
    view: {
      ...view,
      title: 'Set up a second factor',
      lead: 'Choose how you confirm from now on that it is you.',
      parts: [
        { part: 'button', text: 'Passkey', lines: ['With your fingerprint, your face or a PIN.'], name: 'add', value: 'passkey' },
        {
          part: 'details',
          title: 'Authenticator app',
          line: 'An app on your phone shows a 6-digit code.',
          isOpen: true,
          parts: [
            { part: 'text', text: 'Scan the code with an app.' },
            { part: 'field', name: 'code', label: '6-digit code', kind: 'code', hint: 'The app shows it.', problem: 'Not that.' },
            { part: 'button', text: 'Continue' },
          ],
        },
        { part: 'details', title: 'Security key', line: 'A key that you plug in.', parts: [{ part: 'text', text: 'Plug it in.' }] },
        { part: 'button', text: 'That was not me', name: 'not', value: 'me', look: 'warning' },
        { part: 'link', text: 'Go to your account', href: '/idp/account', look: 'filled' },
      ],
    },
    frame,
  },
  {
    name: 'view-password',
    view: {
      ...view,
      parts: [
        { part: 'field', name: 'old', label: 'Password', kind: 'password', autocomplete: 'current-password', userName: 'alice@acme.test' },
        { part: 'field', name: 'new', label: 'New one', kind: 'password', autocomplete: 'new-password', userName: 'alice@acme.test' },
        { part: 'button', text: 'Go on' },
      ],
    },
    frame,
  },
  {
    name: 'view-passwords',
    view: {
      ...view,
      parts: [
        { part: 'field', name: 'name', label: 'User name', autocomplete: 'username', value: longUserName },
        { part: 'field', name: 'old', label: 'Password', kind: 'password', autocomplete: 'current-password', userName: { field: 'name' } },
        {
          part: 'field',
          name: 'new',
          label: 'New password',
          kind: 'password',
          autocomplete: 'new-password',
          userName: { field: 'name' },
          problem: 'Too short.',
        },
        { part: 'button', text: 'Go on' },
      ],
    },
    frame: long,
  },
  {
    name: 'view-plain',
    view: { page: 'view', title: 'Done', parts: [{ part: 'text', text: 'You can close this window.' }] },
    frame: { locale: 'da' },
  },
  { name: 'identifier-elsewhere', view: { ...identifier, isElsewhere: true, others }, frame: long },
  { name: 'identifier-prefilled', view: { ...identifier, identifier: 'alice@acme.test' }, frame },
  {
    name: 'identifier-outside',
    view: { ...identifier, outside: { userName: 'bob@globex.test', tenantName: 'Acme Industries AS' } },
    frame,
  },
  { name: 'identifier-missing', view: { ...identifier, problem: 'identifier.missing' }, frame },
  { name: 'identifier-busy', view: { ...identifier, problem: 'busy' }, frame },
  { name: 'identifier-plain', view: { page: 'identifier', action: '/interaction/1', csrf: 'token' }, frame: { locale: 'en' } },
  { name: 'identifier-long', view: { ...identifier, identifier: longUserName }, frame: long },
  {
    name: 'identifier-branded',
    view: identifier,
    frame: {
      ...frame,
      locale: 'nb',
      branding: { accentColor: '#ffd400', radius: 24, logoUri: '/logo.svg', faviconUri: '/logo.svg', font: 'serif' },
    },
  },
  {
    name: 'identifier-square',
    view: identifier,
    frame: { ...frame, locale: 'fi', branding: { accentColor: '#0b6e4f', radius: 0 } },
  },
  { name: 'password', view: password, frame: { ...frame, additions } },
  { name: 'password-mismatch', view: { ...password, problem: 'credentials.mismatch' }, frame },
  {
    name: 'password-organisation',
    view: { ...password, problem: 'credentials.mismatch', organisation: '' },
    frame: { ...long, tenant: { name: 'Globex' }, branding: links },
  },
  { name: 'password-missing', view: { ...password, problem: 'password.missing' }, frame: { ...frame, locale: 'sv' } },
  { name: 'password-throttled', view: { ...password, problem: 'attempts.exceeded', minutes: 4 }, frame },
  {
    name: 'password-long',
    view: { ...password, identifier: longUserName, problem: 'credentials.mismatch' },
    frame: long,
  },
  {
    name: 'accounts',
    view: {
      page: 'accounts',
      ...form,
      other: '/interaction/1?restart=yes',
      choices: choices.map((choice, at) => ({ ...choice, isSignedIn: at === 0 })),
    },
    frame: { locale: 'en', client: { name: 'Acme Orders' }, isStep: true },
  },
  {
    name: 'accounts-long',
    view: {
      page: 'accounts',
      ...form,
      other: '/interaction/1?restart=yes',
      choices: [{ value: '3', personName: 'Maximiliane', userName: longUserName, tenantName: long.tenant?.name ?? '', isSignedIn: false }],
    },
    frame: long,
  },
  { name: 'create', view: create, frame },
  { name: 'create-terms', view: create, frame: { ...frame, branding: links } },
  { name: 'create-weak', view: { ...create, ...filled, problems: ['password.weak'] }, frame: { ...frame, locale: 'sv' } },
  { name: 'create-taken', view: { ...create, ...filled, problems: ['email.taken'] }, frame: { ...frame, locale: 'da' } },
  { name: 'create-throttled', view: { ...create, ...filled, problem: 'attempts.exceeded', minutes: 4 }, frame: { ...frame, locale: 'fi' } },
  {
    name: 'create-long',
    view: { ...create, email: longUserName, problems: ['familyName.invalid', 'email.invalid', 'password.weak'] },
    frame: long,
  },
  {
    name: 'organisation',
    view: { page: 'organisation', ...form, identifier: 'alice', choices },
    frame: { locale: 'en', client: { name: 'Acme Orders' }, isStep: true },
  },
  {
    name: 'organisation-missing',
    view: { page: 'organisation', ...form, identifier: 'alice', choices, problem: 'organisation.missing' },
    frame: { locale: 'da', client: { name: 'Acme Orders' }, languages: frame.languages as LanguageMenu },
  },
  {
    name: 'organisation-long',
    view: {
      page: 'organisation',
      ...form,
      identifier: 'alice',
      choices: [...choices, { value: '3', personName: 'Maximiliane', userName: longUserName, tenantName: long.tenant?.name ?? '' }],
    },
    frame: { ...long, tenant: { name: 'Globex' } },
  },
  {
    name: 'organisation-many',
    view: {
      page: 'organisation',
      ...form,
      identifier: 'alice',
      find: { search: '', all: '1,2' },
      choices: Array.from({ length: 9 }, (_, at) => ({ value: String(at), ...alice, tenantName: `Acme ${at + 1}` })),
    },
    frame: { locale: 'en', client: { name: 'Acme Orders' }, isStep: true },
  },
  {
    name: 'organisation-none',
    view: { page: 'organisation', ...form, identifier: 'alice', find: { search: 'Initech', all: '1,2' }, choices: [] },
    frame: { locale: 'fi', client: { name: 'Acme Orders' } },
  },
  { name: 'consent', view: consent, frame },
  {
    name: 'consent-more',
    view: {
      ...consent,
      isMore: true,
      withdraw: '/idp/account/applications',
      other: '/interaction/1/accounts',
      scopes: [
        { name: 'orders.write', description: { en: 'Change your orders', nb: 'Endre ordrene dine' } },
        { name: 'orders.delete', api: 'Orders' },
      ],
    },
    frame: {
      ...frame,
      locale: 'nb',
      client: {
        name: 'Acme Orders',
        uri: 'https://app.example.com/',
        policyUri: 'https://app.example.com/privacy',
        termsUri: 'https://app.example.com/terms',
      },
    },
  },
  {
    name: 'consent-long',
    view: { ...consent, userName: longUserName, tenantName: long.tenant?.name ?? '' },
    frame: long,
  },
  {
    name: 'logout',
    view: {
      page: 'logout',
      action: '/end',
      fields: { xsrf: 'token', csrf: 'token' },
      personName: 'Alice Andersen',
      appName: 'Acme Orders',
    },
    frame,
  },
  {
    name: 'logout-plain',
    view: { page: 'logout', action: '/end', fields: { xsrf: 'token', csrf: 'token' } },
    frame: { locale: 'de' },
  },
  { name: 'continue', view: { ...handOver, method: 'post' }, frame },
  { name: 'continue-plain', view: { ...handOver, method: 'get' }, frame: { locale: 'sv' } },
  { name: 'signed-out', view: { page: 'signed-out', returnUrl: 'https://app.example.com/' }, frame },
  { name: 'signed-out-again', view: { page: 'signed-out', signIn: '/idp/account' }, frame },
  { name: 'not-found', view: { page: 'not-found', account: '/idp/account' }, frame: { locale: 'fi' } },
  { name: 'still-signed-in', view: { page: 'still-signed-in', account: '/idp/account' }, frame },
  { name: 'signed-out-plain', view: { page: 'signed-out' }, frame: { locale: 'nb', languages: frame.languages as LanguageMenu } },
  { name: 'signed-out-unanswered', view: { page: 'signed-out', frames: [], unanswered: ['Acme Orders', longUserName] }, frame },
  { name: 'error', view: { page: 'error' }, frame },
  {
    name: 'error-developer',
    view: { page: 'error', code: 'invalid_request', restart: '/authorize', developer },
    frame: { locale: 'en', reference: '0198f1c2-7d3e-7a41' },
  },
  { name: 'expired', view: { page: 'expired', restart: { action: '/restart', csrf: 'token' } }, frame },
  { name: 'expired-link', view: { page: 'expired', restart: { action: '/restart' } }, frame: long },
  { name: 'expired-client', view: { page: 'expired', clientUri: 'https://app.example.com/' }, frame },
  { name: 'expired-dead-end', view: { page: 'expired' }, frame: { locale: 'en' } },
  { name: 'wrong-link', view: { page: 'wrong-link' }, frame: { locale: 'sv', languages: frame.languages as LanguageMenu } },
  {
    name: 'impersonation',
    view: { page: 'impersonation' },
    frame: {
      ...frame,
      impersonation: { actor: 'Sue Support (sue@acme.test)', user: 'Alice Andersen (alice@acme.test)', endAt: '/end' },
    },
  },
  { name: 'acting-plain', view: { page: 'impersonation' }, frame: { locale: 'fi' } },
  {
    name: 'acting-elsewhere',
    view: { page: 'signed-out' },
    frame: {
      ...long,
      impersonation: { actor: `Sue (${longUserName})`, user: `Maximiliane (${longUserName})`, endAt: '/end' },
    },
  },
  ...galleryOfExtensions,
  { name: 'unavailable', view: { page: 'unavailable' }, frame: { ...frame, locale: 'da' } },
  { name: 'under-way', view: { page: 'under-way' }, frame: { ...frame, locale: 'fi' } },
  { name: 'no-cookies', view: { page: 'no-cookies', restart: '/idp/interaction/uid/restart' }, frame: { ...frame, locale: 'de' } },
  { name: 'no-cookies-plain', view: { page: 'no-cookies' }, frame: { locale: 'nb' } },
];
