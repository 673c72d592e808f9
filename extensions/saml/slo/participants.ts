/** Service providers that a session signed in to, with the NameID and the session index that each got. */
import type { ArtifactKind, BrowserSignIn, ExtensionContext, SignInToEnd } from '../../../lib/extension-door.js';
import type { LogoutRequest, NameId } from '../messages/inbound.js';
import { isSameNameId } from '../messages/name-id.js';
import type { ServiceProvider } from '../service-providers/records.js';
import { newMessageId } from '../xml/write.js';

export interface Participant {
  /** Id of the service provider. */
  readonly serviceProvider: string;
  /** Name of the service provider at the sign-in. The name is needed after the service provider was removed. */
  readonly name: string;
  /** Id of the user, because linked accounts share a session. */
  readonly oid: string;
  /** `sub` of the sign-in, because a sign-in of another person in the same browser keeps the name of the session. */
  readonly sub: string;
  readonly nameId: NameId;
  /** Index of the session at the service provider, the same for all accounts of one person. @see SAML Core §2.7.2 */
  readonly sessionIndex: string;
  /** Whether the service provider started the sign-out itself. */
  readonly hasLeft?: true;
}

export interface ParticipantSession {
  readonly participants: readonly Participant[];
  /** Handle of the logout that ended the session. */
  readonly logout?: string;
}

/** Participants, by the name of the session. No session lasts longer than this lifetime, with any options. */
export const participantSessions: ArtifactKind = { name: 'saml.sessions', lifetimeSeconds: 366 * 86_400 };

/** Maximum participants of one session. The oldest participants are dropped. Only a script reaches the maximum. */
const MOST = 200;

const subOf = ({ account: { person } }: Pick<BrowserSignIn, 'account'>): string => person.user.parentUserId ?? person.user.id;

export type Participants = ReturnType<typeof createParticipants>;

export function createParticipants({ records: { artifact }, service: { lifetimes } }: Pick<ExtensionContext, 'records' | 'service'>) {
  const lifetimeSeconds = Math.min(lifetimes.session, participantSessions.lifetimeSeconds);
  const read = async (session: string): Promise<ParticipantSession | undefined> =>
    (await artifact(participantSessions).read(session)) as ParticipantSession | undefined;
  const change = async (session: string, changed: (before: ParticipantSession) => ParticipantSession): Promise<ParticipantSession> =>
    (await artifact(participantSessions).update(
      session,
      (before) => changed((before as ParticipantSession | undefined) ?? { participants: [] }),
      {
        lifetimeSeconds,
      },
    )) as ParticipantSession;

  return {
    read,

    /** Returns the participants of one service provider in a session. */
    async find(session: string, { id }: Pick<ServiceProvider, 'id'>): Promise<readonly Participant[]> {
      return ((await read(session))?.participants ?? []).filter(({ serviceProvider }) => serviceProvider === id);
    },

    /**
     * Records a sign-in before its assertion is sent.
     * @param nameId is replaced by the NameID of an earlier sign-in in the session, if it is transient
     */
    async enter(signedIn: BrowserSignIn, { id, name }: ServiceProvider, nameId: NameId, isTransient: boolean): Promise<Participant> {
      const { oid, session } = signedIn;
      const sub = subOf(signedIn);
      const isSame = (each: Participant): boolean =>
        each.serviceProvider === id &&
        each.oid === oid &&
        each.sub === sub &&
        each.nameId.format === nameId.format &&
        (isTransient || each.nameId.value === nameId.value);
      const newIndex = newMessageId();
      const { participants } = await change(session, (before) => {
        const earlier = before.participants.find(isSame);
        if (earlier && !earlier.hasLeft) return before;
        const others = before.participants.filter((each) => !isSame(each));
        const ofSession = before.participants.find((each) => each.serviceProvider === id && each.sub === sub);
        const entered = {
          serviceProvider: id,
          name,
          oid,
          sub,
          nameId: earlier?.nameId ?? nameId,
          sessionIndex: ofSession?.sessionIndex ?? newIndex,
        };
        return { ...before, participants: [...others, entered].slice(-MOST) };
      });
      return participants.find(isSame) as Participant;
    },

    /** Returns whether a LogoutRequest is about the user of this session. @see SAML Core §3.7.3.2 */
    async isAbout(
      { session, oid, sub }: SignInToEnd,
      serviceProvider: ServiceProvider,
      { nameId, sessionIndexes }: Pick<LogoutRequest, 'nameId' | 'sessionIndexes'>,
    ) {
      // An account that was linked since the sign-in has another `sub` now.
      const all = (await this.find(session, serviceProvider)).filter((each) => each.sub === sub || each.oid === oid);
      return all.some(
        (each) =>
          isSameNameId(serviceProvider, nameId, each.nameId) && (sessionIndexes.length === 0 || sessionIndexes.includes(each.sessionIndex)),
      );
    },

    /** Marks the service provider as signed out, because it ended its own session. No LogoutRequest is sent to it. */
    async leave(session: string, { id }: Pick<ServiceProvider, 'id'>): Promise<void> {
      await change(session, (before) => {
        const isStaying = (each: Participant): boolean => each.serviceProvider === id && !each.hasLeft;
        if (!before.participants.some(isStaying)) return before;
        return { ...before, participants: before.participants.map((each) => (isStaying(each) ? { ...each, hasLeft: true } : each)) };
      });
    },

    /** Records the logout that ended the session. @param logout handle of the logout */
    ended: async (session: string, logout: string): Promise<void> => void (await change(session, (before) => ({ ...before, logout }))),
  };
}
