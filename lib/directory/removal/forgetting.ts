import type { Collections, ForgottenPerson } from '../context.js';

/** Removes data about a person, or their user, outside the person's document. May be called twice. */
export type Forget = (person: ForgottenPerson) => Promise<void>;

export function createForget({
  credentials,
  consents,
  invitations,
  signIns,
}: Pick<Collections, 'credentials' | 'consents' | 'invitations' | 'signIns'>): Forget {
  return async ({ tid, personId, userId, credentialIds = [] }) => {
    const invited = userId === undefined ? { byPerson: [tid, personId] } : { byUser: [tid, userId] };
    for (const { id } of await invitations.withUnreadable().find(invited)) await invitations.remove(id);
    if (userId === undefined) return;
    for (const id of [userId, ...credentialIds]) await credentials.remove(id);
    await signIns.remove(userId);
    for (const { id } of await consents.withUnreadable().find({ byUser: [userId] })) await consents.remove(id);
  };
}
