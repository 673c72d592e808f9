/**
 * Invitations: how a user that others created becomes active.
 *
 * The invitation is written first, then the person's document, which names the one valid invitation and the serial of its link. Every
 * acceptance, resend and revocation writes that document. The row has the purpose of the invitation, and is updated afterwards
 * (`invitation-deliveries`). `new-invitations` creates invitations, `open-invitations` changes pending ones, `invitation-lists` lists all,
 * and `acceptance` accepts them.
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
 * `send`: whether the invitation link is e-mailed. `clientId`: the client whose look the pages have, and to which the user is sent afterwards.
 * `link`: whether the user is linked to a personal account. `locale`: the language of the mail and the pages.
 * @interface
 */
export type InvitationInput = Static<typeof invitationInput>;

/** The invitations of a tenant. A user has at most one invitation that can be accepted. */
export interface Invitations {
  /**
   * Invites a user. The new invitation replaces an earlier one. Nothing is written on an error.
   * @throws IdpError `not_found`, `invalid_record`, `user_not_invited`, `email_required`, `mail_not_configured`, `personal_tenant_missing`,
   * `link_same_tenant`, `link_not_allowed`, `client_unknown`.
   */
  create(userId: string, input: InvitationInput): Promise<InvitationView>;
  /**
   * Creates a person with an invited user and an invitation. Nothing is written on an error.
   * @throws IdpError `user_required`, and the errors of {@link create} and of `persons.create`.
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
  /**
   * Sends a new invitation link with a full lifetime. Earlier invitation links no longer work.
   * @throws IdpError `not_found`, `invitation_over`, `email_required`, `mail_not_configured`.
   */
  resend(id: string): Promise<InvitationView>;
  /** @throws IdpError `not_found`, `invitation_over` for an accepted invitation. */
  revoke(id: string): Promise<InvitationView>;
  /** Removes the record. A pending invitation is revoked first. @throws IdpError `not_found`. */
  remove(id: string): Promise<void>;
  /** Returns the invitation link. From now on, the invitation link proves no address. @throws IdpError `not_found`, `invitation_over`. */
  link(id: string): Promise<{ readonly url: string; readonly expiresAt: Date }>;
}

/** Options of invitations. */
export interface InvitationRules {
  /** Whether mail can be sent. */
  readonly hasMail: boolean;
  /** The tenant of personal accounts. */
  readonly personalTenant?: string | undefined;
  /** Seconds that an invitation link is valid. */
  readonly lifetimeSeconds: number;
  /** Returns the URL of an invitation link's page. */
  readonly urlOf: (token: string) => string;
}

export interface InvitationParts {
  /** Returns the service for the collections of the context. */
  readonly personsOf: (context: DirectoryContext) => Persons;
  readonly clients: Clients;
  readonly invitationDeliveries: InvitationDeliveries;
  readonly links: MailedLinks;
  readonly rules: InvitationRules;
}
