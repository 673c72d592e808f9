/** The mails of this extension. */
import type { DueLink, ExtensionContext, Letter, LetterPart, Look, PersonWithUser, Text } from '../../lib/extension-door.js';

type Host = Pick<ExtensionContext, 'locales'>;

/** When a link ends, as people write it there. The zone is said, because nobody knows theirs. */
const timeIn = (locale: string | undefined, at: Date): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(at);

interface About {
  readonly to: string;
  readonly kind: string;
  readonly person: PersonWithUser;
  readonly tenant: { readonly id: string; readonly name: string; readonly locale?: string };
  readonly clientId?: string;
  readonly locale?: string | undefined;
}

/** @param text of the letter, by the name of its texts. */
function letter(
  { locales }: Host,
  about: About,
  name: string,
  at: Date | undefined,
  parts: (values: Record<string, string>) => readonly LetterPart[],
): Letter {
  const { to, kind, person, tenant, clientId, locale } = about;
  const values = {
    tenant: tenant.name,
    name: person.givenName,
    userName: person.user.userName,
    time: at ? timeIn(locale ?? tenant.locale ?? locales[0], at) : '',
  };
  return {
    to,
    kind,
    tid: tenant.id,
    ...(clientId === undefined ? {} : { clientId }),
    ...(locale === undefined ? {} : { locale }),
    subject: { key: `passwords.mail.${name}.subject`, values },
    parts: [{ part: 'text', text: { key: 'passwords.mail.greeting', values } }, ...parts(values)],
  };
}

const said = (key: string, values: Readonly<Record<string, string>>): Text => ({ key: `passwords.mail.${key}`, values });

/** The link that resets a password. */
export const resetLetter = (host: Host, due: DueLink, locale: string | undefined): Letter =>
  letter(host, { ...due, kind: 'password-reset', locale }, 'reset', due.expiresAt, (values) => [
    { part: 'text', text: said('reset.text', values) },
    { part: 'button', text: 'passwords.mail.reset.button', href: due.url },
    { part: 'note', text: said('until', values) },
    { part: 'note', text: 'passwords.mail.reset.ignore' },
  ]);

/** The link that proves an address. */
export const proofLetter = (host: Host, due: DueLink, locale?: string): Letter =>
  letter(host, { ...due, kind: 'email-proof', locale }, 'proof', due.expiresAt, (values) => [
    { part: 'text', text: said('proof.text', values) },
    { part: 'button', text: 'passwords.mail.proof.button', href: due.url },
    { part: 'note', text: said('until', values) },
    { part: 'note', text: 'passwords.mail.ignore' },
  ]);

/** To an address that somebody wanted, and another account has. */
export const takenLetter = (host: Host, due: DueLink, locale?: string): Letter =>
  letter(host, { ...due, kind: 'email-taken', locale }, 'taken', undefined, (values) => [
    { part: 'text', text: said('taken.text', values) },
    { part: 'note', text: 'passwords.mail.ignore' },
  ]);

/** Something about the account is not as it was. */
export const noticeLetter = (
  host: Host,
  name: string,
  at: Date,
  to: string,
  person: PersonWithUser,
  tenant: NonNullable<Look['tenant']>,
): Letter =>
  letter(host, { to, kind: 'account-changed', person, tenant }, name, at, (values) => [
    { part: 'text', text: said(`${name}.text`, values) },
    { part: 'note', text: said('notYou', values) },
  ]);
