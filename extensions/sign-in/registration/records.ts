/** Registrations whose e-mail address is still to be proven. */
import {
  type ArtifactKind,
  type Attempt,
  DAY_MS,
  type EventMetadata,
  type ExtensionContext,
  type PreparedRegistration,
  type RegistrationLimits,
} from '../../../lib/extension-door.js';

/**
 * Registrations, until the address is proven. The queue has the ids of registrations, and the registration link has a keyed hash of the id. Neither the id
 * nor the hash is of use alone.
 */
export const waitingRegistrations: ArtifactKind = { name: 'sign-in.registrations', lifetimeSeconds: 30 * 86_400 };
/** Browsers that sent the form. In these browsers, the registration link continues the sign-in. */
export const registrationBrowsers: ArtifactKind = { name: 'sign-in.begun', lifetimeSeconds: 30 * 86_400 };
/** Browsers that just used a registration link, so that a form that is sent twice gets the same answer twice. */
export const creatingBrowsers: ArtifactKind = { name: 'sign-in.created', lifetimeSeconds: 600 };

export interface WaitingRegistration {
  readonly tid: string;
  readonly clientId: string;
  readonly uid: string;
  readonly locale?: string;
  /** Rate limits for this client of an invitation. The invitation lets the user create an account that the tenant's `signIn` does not allow. */
  readonly invited?: RegistrationLimits;
  readonly eventMetadata?: EventMetadata;
  readonly expiresAt: number;
  readonly prepared: PreparedRegistration;
}

/** Returns the registration of a tenant. The events of the registration name the client of the invitation for which the account is created. */
export const registrationIn = (
  { directory }: Pick<ExtensionContext, 'directory'>,
  tid: string,
  { eventMetadata: metadata }: Pick<WaitingRegistration, 'eventMetadata'>,
) => directory.as(metadata ? { metadata } : {}).forTenant(tid).registration;

/** Kind of the delivery that mails the registration link. */
export const SEND = 'sign-in.registration';

/** Returns `invitation` if the directory is to accept the account because of an invitation. */
export const throughOf = (invited: RegistrationLimits | undefined): 'invitation' | undefined => invited && 'invitation';

/** Counts an account or a form of an invited user. @returns the time at which the count starts again, if the rate limit is exceeded */
export async function countInvited(
  { limits: { limit } }: Pick<ExtensionContext, 'limits'>,
  attempt: Pick<Attempt, 'count'>,
  what: keyof RegistrationLimits,
  clientId: string,
  invited: RegistrationLimits | undefined,
): Promise<Date | undefined> {
  if (invited === undefined) return undefined;
  const { isOver, resetsAt } = await attempt.count(limit(`registration ${what}`, { of: invited[what], in: DAY_MS }), clientId);
  return isOver ? resetsAt : undefined;
}
