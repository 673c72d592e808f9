/** Registrations that wait for the proof of their address. */
import {
  type ArtifactKind,
  type Attempt,
  DAY_MS,
  type EventMetadata,
  type ExtensionContext,
  type PreparedRegistration,
  type RegistrationLimits,
} from '../../../lib/extension-door.js';

/** Their ids are in the queue, and a keyed hash of the id is in the link: neither is of use without the other. */
export const waitingRegistrations: ArtifactKind = { name: 'sign-in.registrations', lifetimeSeconds: 30 * 86_400 };
/** Browsers that a registration was begun in: the link goes on there with the sign-in, and elsewhere it does not. */
export const registrationBrowsers: ArtifactKind = { name: 'sign-in.begun', lifetimeSeconds: 30 * 86_400 };
/** Browsers that used a link a moment ago: a form that is sent twice is answered like the first. */
export const creatingBrowsers: ArtifactKind = { name: 'sign-in.created', lifetimeSeconds: 600 };

export interface WaitingRegistration {
  readonly tid: string;
  readonly clientId: string;
  readonly uid: string;
  readonly locale?: string;
  /** Limits, for the client of this record, of an invitation that lets the user create the account whatever the tenant's `signIn` says. */
  readonly invited?: RegistrationLimits;
  readonly eventMetadata?: EventMetadata;
  readonly expiresAt: number;
  readonly prepared: PreparedRegistration;
}

/** The registration of a tenant, whose events name the client of the invitation that the account is created for. */
export const registrationIn = (
  { directory }: Pick<ExtensionContext, 'directory'>,
  tid: string,
  { eventMetadata: metadata }: Pick<WaitingRegistration, 'eventMetadata'>,
) => directory.as(metadata ? { metadata } : {}).forTenant(tid).registration;

/** The kind of delivery that mails the link. */
export const SEND = 'sign-in.registration';

/** Returns `invitation` if the directory accepts the account because of an invitation. */
export const throughOf = (invited: RegistrationLimits | undefined): 'invitation' | undefined => invited && 'invitation';

/**
 * Counts an account or a form of an invited user.
 * @returns when the count starts again, if the limit is exceeded
 */
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
