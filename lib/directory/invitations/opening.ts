/** Invitations for the bearer of an invitation link. Reading changes nothing. */
import type { EventMetadata } from '../../events.js';
import { present } from '../../present.js';
import type { Invitation, PersonWithUser, Tenant, User } from '../../store/records/records.js';
import type { AccountMeans } from '../accounts/means.js';
import type { DirectoryContext } from '../context.js';
import { PASSWORD_MINIMUM } from '../credentials/password-rules.js';
import type { LinkRef } from '../mailed-links.js';
import { hasUser } from '../persons/user-record.js';
import { PASSWORD, unmetPolicy } from '../tenants/sign-in-policy.js';
import type { Tenants } from '../tenants/tenants.js';
import { missingReference } from './invitation-lists.js';
import { invitationState, type StateOfInvitation } from './invitation-state.js';
import { metadataOf } from './metadata.js';

/**
 * `unavailable`: nobody can sign in to the tenant now. `unconfirmed`: the user has privileges that an administrator who created or saw the
 * invitation link did not hold.
 */
export type InvitationState = StateOfInvitation | 'unavailable' | 'unconfirmed';

/** An invitation, as the bearer of its invitation link sees it. */
export interface OpenedInvitation {
  readonly ref: LinkRef;
  readonly state: InvitationState;
  readonly tenant: Tenant;
  readonly person: PersonWithUser;
  readonly clientId?: string;
  /** The client of the invitation, as events name it. */
  readonly eventMetadata?: EventMetadata;
  /** Languages of the pages, as in `ui_locales`: the person's, then the invitation's. */
  readonly locale?: string;
  readonly expiresAt: Date;
  /**
   * Requirement of the acceptance. `password`: a password. `link`: a personal account to link to. `nothing`: the user signs in by other means
   * of the tenant, or by its parent account.
   */
  readonly takes: 'password' | 'link' | 'nothing';
  /** Minimum number of characters of a password. */
  readonly passwordLength: number;
  /**
   * Connections for which an identity of the user is recorded, and which the tenant allows. The first sign-in by one of these connections
   * accepts the invitation too.
   */
  readonly providers: readonly string[];
}

interface Parts {
  readonly context: DirectoryContext;
  readonly tenants: Tenants;
  readonly means: Pick<AccountMeans, 'open'>;
}

/**
 * Returns the function that reads the invitation of an invitation link. The function returns undefined if the invitation, its person or its
 * tenant no longer exists.
 */
export function createOpening({ context, tenants, means }: Parts) {
  const { now } = context;
  const { invitations, persons } = context.collections;

  async function open(ref: LinkRef): Promise<(OpenedInvitation & { readonly invitation: Invitation }) | undefined> {
    const invitation = await invitations.get(ref.id);
    const person = invitation && (await persons.get(invitation.personId));
    const tenant = invitation && (await tenants.get(invitation.tid));
    if (!tenant || !hasUser(person) || missingReference(invitation, person) !== undefined) return undefined;
    const { user } = person;
    const { clientId } = invitation;
    const locale = [person.locale, invitation.locale].filter((tag) => tag !== undefined).join(' ') || undefined;
    const eventMetadata = metadataOf(invitation);
    const hasPassword = tenant.signIn?.methods?.includes(PASSWORD) ?? true;
    return {
      ref,
      invitation,
      state: await stateOf(ref, person, tenant),
      tenant,
      person,
      ...present({ clientId }),
      ...(eventMetadata && { eventMetadata }),
      ...present({ locale }),
      expiresAt: user.invitation?.id === ref.id ? user.invitation.expiresAt : invitation.expiresAt,
      takes: invitation.link ? 'link' : hasPassword && user.parentUserId === undefined ? 'password' : 'nothing',
      passwordLength: PASSWORD_MINIMUM,
      providers: invitation.link || user.parentUserId !== undefined ? [] : await providersOf(user, tenant),
    };
  }

  async function providersOf({ externalIdentities }: User, { signIn }: Tenant): Promise<readonly string[]> {
    const recorded = [...new Set(externalIdentities.map(({ idp }) => idp))].filter((idp) => signIn?.methods?.includes(idp) ?? true);
    const offered = await Promise.all(recorded.map((idp) => context.means.offers(idp)));
    return recorded.filter((_, index) => offered[index]);
  }

  async function stateOf(ref: LinkRef, person: PersonWithUser, tenant: Tenant): Promise<InvitationState> {
    const state = invitationState(person.user, ref, now());
    if (state !== 'pending') return state;
    if (tenant.status !== 'active' || (await unmetPolicy(tenant, context.means)) !== undefined) return 'unavailable';
    return (await means.open(person.user.invitation?.vouchedBy, person)) ? 'pending' : 'unconfirmed';
  }

  return open;
}
