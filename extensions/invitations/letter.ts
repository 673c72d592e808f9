/** The mail with the link of an invitation. */
import type { DueInvitation, ExtensionContext, Letter } from '../../lib/extension-door.js';

/** When a link ends, as people write it there. The zone is said, because nobody knows theirs. */
const timeIn = (locale: string | undefined, at: Date): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(at);

export async function invitationLetter(
  { brandingOf, locales }: ExtensionContext,
  { invitation, person, url }: DueInvitation,
): Promise<Letter> {
  const { tid, clientId, expiresAt } = invitation;
  const { tenant, client } = await brandingOf(tid, clientId);
  const locale = invitation.locale ?? tenant?.locale ?? locales[0];
  const values = {
    tenant: tenant?.name ?? '',
    client: client?.name ?? '',
    name: person.givenName,
    userName: person.user?.userName ?? '',
    time: timeIn(locale, expiresAt),
  };
  return {
    to: person.email ?? '',
    kind: 'invitation',
    tid,
    ...(clientId === undefined ? {} : { clientId }),
    ...(invitation.locale === undefined ? {} : { locale: invitation.locale }),
    subject: { key: 'invitations.mail.subject', values },
    parts: [
      { part: 'text', text: { key: 'invitations.mail.greeting', values } },
      { part: 'text', text: { key: client ? 'invitations.mail.toClient' : 'invitations.mail.toTenant', values } },
      { part: 'button', text: 'invitations.mail.accept', href: url },
      { part: 'text', text: { key: 'invitations.mail.userName', values } },
      { part: 'note', text: { key: 'invitations.mail.until', values } },
      { part: 'note', text: 'invitations.mail.ignore' },
    ],
  };
}
