/**
 * Invitations: how a user that others made becomes active.
 *
 * The invitation is written first, then the person's document, which names the one invitation that is good, and the number of its link: whoever accepts,
 * resends or revokes writes that document. The row tells what the invitation is for, and is brought in line afterwards (`invitation-deliveries`). `new-invitations` makes
 * invitations, `open-invitations` changes those that wait, `invitation-lists` shows all, and `acceptance` is what becomes of a link.
 */
import { type Static, Type } from '@sinclair/typebox';
import type { PersonWithUser } from '../../store/records/records.js';
import { inputSchema, languageTag } from '../../text/schemas.js';
import type { Clients } from '../clients/clients.js';
import type { DirectoryContext } from '../context.js';
import type { Listed } from '../lists/list.js';
import type { MailedLinks } from '../mailed-links.js';
import type { PersonInput, Persons } from '../persons/persons.js';
import type { InvitationDeliveries } from './invitation-deliveries.js';
import type { InvitationQuery, InvitationView } from './invitation-lists.js';

export const invitationInput = inputSchema({
  id: Type.Optional(Type.String()),
  send: Type.Boolean(),
  clientId: Type.Optional(Type.String()),
  link: Type.Optional(Type.Boolean()),
  locale: Type.Optional(languageTag()),
});
/**
 * `send`: whether the link is e-mailed. `clientId`: whose look its pages have, and where the user goes afterwards. `link`: whether the user is linked to a
 * personal account. `locale`: the language of its mail and pages.
 * @interface
 */
export type InvitationInput = Static<typeof invitationInput>;

/** The invitations of a tenant. A user has one at a time that can be accepted. */
export interface Invitations {
  /**
   * Invites a user, in the place of an invitation that the user may have. Nothing is written on an error.
   * @throws IdpError `not_found`, `invalid_record`, `user_not_invited`, `email_required`, `mail_not_configured`, `personal_tenant_missing`,
   * `link_same_tenant`, `link_not_allowed`, `client_unknown`.
   */
  create(userId: string, input: InvitationInput): Promise<InvitationView>;
  /**
   * A new person with an invited user and an invitation. Nothing is written on an error.
   * @throws IdpError `user_required`, and those of {@link create} and of `persons.create`.
   */
  createPerson(
    person: PersonInput,
    input: InvitationInput,
  ): Promise<{ readonly person: PersonWithUser; readonly invitation: InvitationView }>;
  get(id: string): Promise<InvitationView | undefined>;
  /** @throws IdpError `not_found`. */
  require(id: string): Promise<InvitationView>;
  /** @throws IdpError `invalid_request`, `invalid_cursor`. */
  list(query?: InvitationQuery): Promise<Listed<InvitationView>>;
  /** Sends another link, with all its time; those before are void. @throws IdpError `not_found`, `invitation_over`, `email_required`, `mail_not_configured`. */
  resend(id: string): Promise<InvitationView>;
  /** @throws IdpError `not_found`, `invitation_over` for one that was accepted. */
  revoke(id: string): Promise<InvitationView>;
  /** Removes the record. A pending invitation is revoked first. @throws IdpError `not_found`. */
  remove(id: string): Promise<void>;
  /** The link, which proves no address from now on. @throws IdpError `not_found`, `invitation_over`. */
  link(id: string): Promise<{ readonly url: string; readonly expiresAt: Date }>;
}

/** What the options say of invitations. */
export interface InvitationRules {
  /** Whether mail can be sent. */
  readonly hasMail: boolean;
  /** The tenant of personal accounts. */
  readonly personalTenant?: string | undefined;
  /** Seconds that a link is good for. */
  readonly lifetimeSeconds: number;
  /** The page of a link. */
  readonly urlOf: (token: string) => string;
}

export interface InvitationParts {
  /** The service over these collections. */
  readonly personsOf: (context: DirectoryContext) => Persons;
  readonly clients: Clients;
  readonly invitationDeliveries: InvitationDeliveries;
  readonly links: MailedLinks;
  readonly rules: InvitationRules;
}
