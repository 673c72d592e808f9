/** The mail with an invitation link. */
import { type DueInvitation, type ExtensionContext, greetedName, type Letter, present, utcTime } from '../../lib/extension-door.js';

export async function invitationLetter(
  { pages: { brandingOf } }: ExtensionContext,
  { invitation, person, url }: DueInvitation,
): Promise<Letter> {
  const { tid, clientId, expiresAt } = invitation;
  const { tenant, client } = await brandingOf(tid, clientId);
  const values = {
    tenant: tenant?.name ?? '',
    client: client?.name ?? '',
    name: greetedName(person),
    userName: person.user?.userName ?? '',
    time: utcTime(expiresAt),
  };
  return {
    to: person.email ?? '',
    kind: 'invitation',
    rateLimit: 'anybody',
    tid,
    person,
    ...present({ clientId, locale: invitation.locale }),
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
