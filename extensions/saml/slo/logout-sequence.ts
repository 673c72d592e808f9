/**
 * Sequence of a logout: the browser visits the service providers of the session, one after the other. The sign-out from this service is complete before the
 * first step. A user who gets stuck at a service provider that does not answer is signed out here.
 * @see SAML Profiles §4.4.3
 */
import { hash, randomBytes } from 'node:crypto';
import type { ArtifactKind, ExtensionContext } from '../../../lib/extension-door.js';
import type { NameId } from '../messages/inbound.js';
import { newMessageId } from '../xml/write.js';
import type { Participant } from './participants.js';

export interface Step {
  readonly serviceProvider: string;
  readonly name: string;
  /** Id of the user. */
  readonly oid: string;
  readonly nameId: NameId;
  readonly sessionIndex: string;
  /** `silent`: the service provider cannot be asked, or answered that it did not sign the user out. */
  readonly state: 'waiting' | 'asked' | 'done' | 'silent';
}

export interface LogoutSequence {
  /** Name of the session that ended. */
  readonly session: string;
  readonly steps: readonly Step[];
  /** URL to which the browser goes after the last step. */
  readonly next: string;
  /** SHA-256 of the secret of the browser that took the first step. */
  readonly browser?: string;
}

/** The next step of a browser. Without `step`, all service providers were asked, and the browser goes to `next`. */
export interface Advance {
  readonly next: string;
  readonly step?: Step & { readonly requestId: string };
  /** Secret that the browser has to store. From now on, only this browser can continue the logout. */
  readonly newSecret?: string;
}

/** A LogoutRequest that a service provider has to answer. */
export interface SentLogoutRequest {
  readonly handle: string;
  readonly stepIndex: number;
  /** Id of the service provider. */
  readonly serviceProvider: string;
}

/** A logout whose step was answered. */
export interface Answered {
  readonly handle: string;
  /** Id of the user. */
  readonly user: string | undefined;
  readonly session: string | undefined;
}

export const logoutSequences: ArtifactKind = { name: 'saml.logouts', lifetimeSeconds: 600 };
/** Sent requests, by the ID of the message. */
export const sentLogoutRequests: ArtifactKind = { name: 'saml.logout-requests', lifetimeSeconds: 600, once: true };

const digestOf = (secret: string): string => hash('sha256', secret, 'base64url');

export type LogoutSequences = ReturnType<typeof createLogoutSequences>;

export function createLogoutSequences({ records: { artifact } }: Pick<ExtensionContext, 'records'>) {
  const read = async (handle: string): Promise<LogoutSequence | undefined> =>
    (await artifact(logoutSequences).read(handle)) as LogoutSequence | undefined;
  const change = async (handle: string, changed: (before: LogoutSequence) => LogoutSequence): Promise<LogoutSequence | undefined> =>
    (await artifact(logoutSequences).update(handle, (before) => before && changed(before as LogoutSequence))) as LogoutSequence | undefined;
  const withState = (sequence: LogoutSequence, stepIndex: number, state: Step['state']): LogoutSequence => ({
    ...sequence,
    steps: sequence.steps.map((step, index) => (index === stepIndex ? { ...step, state } : step)),
  });

  return {
    /** Stores a logout and returns its handle. @param canBeAsked whether the service provider has an address for logout requests */
    async begin(
      { session, participants }: { readonly session: string; readonly participants: readonly Participant[] },
      next: string,
      canBeAsked: (participant: Participant) => boolean,
    ): Promise<string> {
      const handle = randomBytes(24).toString('base64url');
      const steps = participants.map((participant): Step => {
        const { serviceProvider, name, oid, nameId, sessionIndex } = participant;
        return { serviceProvider, name, oid, nameId, sessionIndex, state: canBeAsked(participant) ? 'waiting' : 'silent' };
      });
      await artifact(logoutSequences).put(handle, { session, steps, next } satisfies LogoutSequence);
      return handle;
    },

    /**
     * Returns the next step. Each call returns another step, so that two tabs, or a user who goes back, ask no service provider twice.
     * @param secrets cookies of the browser. The first step needs no cookies. The first step ignores all cookies, because an attacker may have set them.
     * @returns undefined for an expired logout, and for a logout of another browser
     */
    async advance(handle: string, secrets: readonly string[]): Promise<Advance | undefined> {
      const secret = randomBytes(32).toString('base64url');
      const digests = [secret, ...secrets].map(digestOf);
      let stepIndex = -1;
      let isFirst = false;
      const after = await change(handle, (before) => {
        isFirst = before.browser === undefined;
        const { browser = digests[0] ?? '' } = before;
        stepIndex = digests.includes(browser) ? before.steps.findIndex(({ state }) => state === 'waiting') : -1;
        const bound = isFirst ? { ...before, browser } : before;
        return stepIndex === -1 ? bound : withState(bound, stepIndex, 'asked');
      });
      if (!after?.browser || !digests.includes(after.browser)) return undefined;
      const advance = { next: after.next, ...(isFirst ? { newSecret: secret } : {}) };
      const step = after.steps[stepIndex];
      if (!step) return advance;
      const requestId = newMessageId();
      await artifact(sentLogoutRequests).put(requestId, {
        handle,
        stepIndex,
        serviceProvider: step.serviceProvider,
      } satisfies SentLogoutRequest);
      return { ...advance, step: { ...step, requestId } };
    },

    /**
     * Records the answer to a LogoutRequest: once, and only from the service provider that was asked.
     * @returns the handle, the user and the session of the logout. User and session are undefined after the logout has expired.
     */
    async answered(requestId: string, serviceProvider: string, isDone: boolean): Promise<Answered | undefined> {
      const sent = (await artifact(sentLogoutRequests).read(requestId)) as SentLogoutRequest | undefined;
      if (sent?.serviceProvider !== serviceProvider || !(await artifact(sentLogoutRequests).take(requestId))) return undefined;
      const sequence = await change(sent.handle, (before) => withState(before, sent.stepIndex, isDone ? 'done' : 'silent'));
      return { handle: sent.handle, user: sequence?.steps[sent.stepIndex]?.oid, session: sequence?.session };
    },

    /** Returns the names of service providers that have not confirmed their sign-out; undefined for an expired logout. */
    async unanswered(handle: string): Promise<readonly string[] | undefined> {
      const sequence = await read(handle);
      return sequence && [...new Set(sequence.steps.flatMap(({ name, state }) => (state === 'done' ? [] : [name])))];
    },
  };
}
