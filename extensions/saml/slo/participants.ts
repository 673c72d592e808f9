/** Service providers that signed somebody in by a session of ours: what each calls the user, and the session. */
import type { ArtifactKind, BrowserSignIn, ExtensionContext, SignInToEnd } from '../../../lib/extension-door.js';
import type { LogoutRequest, NameId } from '../messages/inbound.js';
import { isSameNameId } from '../messages/name-id.js';
import type { ServiceProvider } from '../service-providers/records.js';
import { newMessageId } from '../xml/write.js';

export interface Participant {
  /** The id of the service provider. */
  readonly serviceProvider: string;
  /** As it was called: it may be gone by the time that it does not answer. */
  readonly name: string;
  /** The user's id: linked accounts share a session. */
  readonly oid: string;
  /** The `sub` of the sign-in: another person's in the same browser leaves the session its name. */
  readonly sub: string;
  readonly nameId: NameId;
  /** Of the session at the service provider, whatever accounts of it were used. @see SAML Core §2.7.2 */
  readonly sessionIndex: string;
  /** It began the sign-out by itself. */
  readonly hasLeft?: true;
}

export interface ParticipantSession {
  readonly participants: readonly Participant[];
  /** The handle of the logout that ended it. */
  readonly logout?: string;
}

/** By the name of the session. A session cannot last longer than this, whatever its service says. */
export const participantSessions: ArtifactKind = { name: 'saml.sessions', lifetimeSeconds: 366 * 86_400 };

/** More than a session can have but by a script: the oldest are forgotten. */
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

    /** What the service provider calls those that it signed in by this session. */
    async find(session: string, { id }: Pick<ServiceProvider, 'id'>): Promise<readonly Participant[]> {
      return ((await read(session))?.participants ?? []).filter(({ serviceProvider }) => serviceProvider === id);
    },

    /**
     * Before the assertion is sent.
     * @param nameId a transient one gives way to the one that the session has already.
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

    /** Whether the message is about who is signed in here. @see SAML Core §3.7.3.2 */
    async isAbout(
      { session, oid, sub }: SignInToEnd,
      serviceProvider: ServiceProvider,
      { nameId, sessionIndexes }: Pick<LogoutRequest, 'nameId' | 'sessionIndexes'>,
    ) {
      // An account that was linked since the sign-in has another `sub` by now.
      const all = (await this.find(session, serviceProvider)).filter((each) => each.sub === sub || each.oid === oid);
      return all.some(
        (each) =>
          isSameNameId(serviceProvider, nameId, each.nameId) && (sessionIndexes.length === 0 || sessionIndexes.includes(each.sessionIndex)),
      );
    },

    /** The service provider has ended its own session, and is not asked to. */
    async leave(session: string, { id }: Pick<ServiceProvider, 'id'>): Promise<void> {
      await change(session, (before) => {
        const isStaying = (each: Participant): boolean => each.serviceProvider === id && !each.hasLeft;
        if (!before.participants.some(isStaying)) return before;
        return { ...before, participants: before.participants.map((each) => (isStaying(each) ? { ...each, hasLeft: true } : each)) };
      });
    },

    /** @param logout the handle of it */
    ended: async (session: string, logout: string): Promise<void> => void (await change(session, (before) => ({ ...before, logout }))),
  };
}
