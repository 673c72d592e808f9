/**
 * Mails of this extension. The mails contain no name of the person, user name or address. An attacker may have typed these on the page that sends the mail.
 * The exception is the mail with a reset link that an administrator sends.
 */
import {
  type Account,
  type DueLink,
  greetedName,
  type InLanguage,
  type Letter,
  type LetterLimit,
  type LetterPart,
  type Person,
  present,
  type Text,
  utcTime,
} from '../../lib/extension-door.js';

type Values = Readonly<Record<string, string | InLanguage>>;

interface About {
  readonly to: string;
  readonly kind: string;
  readonly rateLimit: LetterLimit;
  readonly tenant: { readonly id: string; readonly name: string; readonly locale?: string };
  /** The person that the mail is for. */
  readonly person?: Pick<Person, 'locale'>;
  readonly clientId?: string;
  readonly locale?: string | undefined;
}

/** @param name name of the texts of the mail */
function letter(
  about: About,
  name: string,
  time: Date | undefined,
  parts: (values: Values) => readonly LetterPart[],
  greeting: Text = 'passwords.mail.greeting',
): Letter {
  const { to, kind, rateLimit, tenant, person, clientId, locale } = about;
  const values = { tenant: tenant.name, time: time ? utcTime(time) : '' };
  return {
    to,
    kind,
    rateLimit,
    tid: tenant.id,
    ...present({ person, clientId, locale }),
    subject: { key: `passwords.mail.${name}.subject`, values },
    parts: [{ part: 'text', text: greeting }, ...parts(values)],
  };
}

const said = (key: string, values: Values): Text => ({ key: `passwords.mail.${key}`, values });

/** Returns the mail with a reset link. */
export const resetLetter = (due: DueLink, locale: string | undefined): Letter =>
  letter({ ...due, kind: 'password-reset', rateLimit: 'anybody', locale }, 'reset', due.expiresAt, (values) => [
    { part: 'text', text: said('reset.text', values) },
    ...resetParts(due, values),
  ]);

/** Returns the mail with a reset link that an administrator sends. The mail names the user. */
export function sentResetLetter(due: DueLink, locale: string | undefined): Letter {
  const { person } = due;
  const whose = { name: greetedName(person), userName: person.user.userName, tenant: due.tenant.name };
  const parts = (values: Values): readonly LetterPart[] => [{ part: 'text', text: said('sent.text', whose) }, ...resetParts(due, values)];
  return letter(
    { ...due, kind: 'password-reset', rateLimit: 'account', locale },
    'reset',
    due.expiresAt,
    parts,
    said('sent.greeting', whose),
  );
}

const resetParts = (due: DueLink, values: Values): readonly LetterPart[] => [
  { part: 'button', text: 'passwords.mail.reset.button', href: due.url },
  { part: 'note', text: said('until', values) },
  { part: 'note', text: 'passwords.mail.reset.ignore' },
];

/** Returns the mail with the link that proves an address. */
export const proofLetter = (due: DueLink, locale?: string): Letter =>
  letter({ ...due, kind: 'email-proof', rateLimit: 'anybody', locale }, 'proof', due.expiresAt, (values) => [
    { part: 'text', text: said('proof.text', values) },
    { part: 'button', text: 'passwords.mail.proof.button', href: due.url },
    { part: 'note', text: said('until', values) },
    { part: 'note', text: 'passwords.mail.ignore' },
  ]);

/**
 * Returns the mail to the former address when the user requests another address. The language of the mail is the person's or the organisation's, because an
 * attacker may have chosen the language of the page.
 */
export const stopLetter = (due: DueLink, stop: Pick<DueLink, 'to' | 'url'>): Letter =>
  letter({ ...due, to: stop.to, kind: 'email-change', rateLimit: 'account' }, 'stop', due.expiresAt, (values) => [
    { part: 'text', text: said('stop.text', values) },
    { part: 'button', text: 'passwords.mail.stop.button', href: stop.url },
    { part: 'note', text: said('until', values) },
    { part: 'note', text: 'passwords.mail.stop.ignore' },
  ]);

/** Returns the mail to a requested address that another account has. @param holder person of that account */
export const takenLetter = (due: DueLink, holder: Pick<Person, 'locale'>, locale?: string): Letter =>
  letter({ ...due, person: holder, kind: 'email-taken', rateLimit: 'anybody', locale }, 'taken', undefined, (values) => [
    { part: 'text', text: said('taken.text', values) },
    { part: 'note', text: 'passwords.mail.ignore' },
  ]);

/** A change to an account, or an event that the service detected. */
export interface NotedChange {
  /** Name of the texts of the mail. */
  readonly name: string;
  readonly time: Date;
  readonly to: string;
  /** Names of the changed parts, for the texts that have a place for them. */
  readonly parts?: InLanguage;
  /** @default 'text' */
  readonly text?: 'text' | 'unnamed';
  /** Name of the client, for the texts that have a place for it. */
  readonly client?: string;
  /** @default 'notYou' */
  readonly note?: 'notYou' | 'seen' | 'ended';
  /** Whether the mail counts for the rate limit `frequent` of a letter. @default the rate limit `account` */
  readonly isFrequent?: true;
}

/** Returns the mail that notifies a user of a change to the account, or of an event that the service detected. */
export const noticeLetter = (
  { name, time, to, parts = { inLanguage: () => '' }, text = 'text', client, note = 'notYou', isFrequent }: NotedChange,
  { person, tenant }: Pick<Account, 'person' | 'tenant'>,
): Letter =>
  letter({ to, kind: 'account-changed', rateLimit: isFrequent ? 'frequent' : 'account', tenant, person }, name, time, (values) => [
    { part: 'text', text: said(`${name}.${text}`, { ...values, parts, ...present({ client }) }) },
    { part: 'note', text: said(note, values) },
  ]);

interface NewBrowser {
  readonly time: Date;
  readonly to: string;
  /** Names of the browser and its system, from a table. Empty if both are unknown. */
  readonly browser: string;
  /** URL of the page on which the user ends sessions. */
  readonly href: string;
}

/** Returns the mail that notifies a user of a sign-in from a browser that the account does not know. */
export const newBrowserLetter = ({ time, to, browser, href }: NewBrowser, { person, tenant }: Pick<Account, 'person' | 'tenant'>): Letter =>
  letter({ to, kind: 'new-browser', rateLimit: 'account', tenant, person }, 'newBrowser', time, (values) => [
    { part: 'text', text: said(browser === '' ? 'newBrowser.unnamed' : 'newBrowser.text', { ...values, browser }) },
    { part: 'button', text: 'passwords.mail.newBrowser.button', href },
    { part: 'note', text: said('newBrowser.note', values) },
  ]);
