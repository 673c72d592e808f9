/**
 * The way of a browser through the service providers that it is signed out at, one after the other. By then, everything of ours is over: whoever stays at
 * one that does not answer is signed out here.
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
  /** The user's id. */
  readonly oid: string;
  readonly nameId: NameId;
  readonly sessionIndex: string;
  /** `silent`: it cannot be asked, or answered that it did not do it. */
  readonly state: 'waiting' | 'asked' | 'done' | 'silent';
}

export interface LogoutSequence {
  /** The name of the session that ended. */
  readonly session: string;
  readonly steps: readonly Step[];
  /** Where the browser goes on to. */
  readonly next: string;
  /** SHA-256 of the secret of the browser that took the first step. */
  readonly browser?: string;
}

/** Where a browser goes on to: `next` without a step where all were asked. */
export interface Advance {
  readonly next: string;
  readonly step?: Step & { readonly requestId: string };
  /** For the browser to keep: from now on, the logout is its alone. */
  readonly newSecret?: string;
}

/** The message that a service provider is to answer. */
export interface SentLogoutRequest {
  readonly handle: string;
  readonly stepIndex: number;
  /** The id of the service provider. */
  readonly serviceProvider: string;
}

/** A logout that goes on. */
export interface Answered {
  readonly handle: string;
  /** The user's id. */
  readonly user: string | undefined;
  readonly session: string | undefined;
}

export const logoutSequences: ArtifactKind = { name: 'saml.logouts', lifetimeSeconds: 600 };
/** By the ID of the request. */
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
    /** @param canBeAsked tells where there is no address to ask at. @returns its handle */
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
     * The next one to ask, each time another: two tabs, or who goes back, ask nobody twice.
     * @param secrets that the browser has. The first browser needs none, and none that it has counts, because somebody else may have set it.
     * @returns undefined for a logout that is too old to be known, and for one of another browser
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

    /** The step that an answer is about, once and for the service provider that was asked alone. @returns the handle of the logout, and whose it was as far as that is known */
    async answered(requestId: string, serviceProvider: string, isDone: boolean): Promise<Answered | undefined> {
      const sent = (await artifact(sentLogoutRequests).read(requestId)) as SentLogoutRequest | undefined;
      if (sent?.serviceProvider !== serviceProvider || !(await artifact(sentLogoutRequests).take(requestId))) return undefined;
      const sequence = await change(sent.handle, (before) => withState(before, sent.stepIndex, isDone ? 'done' : 'silent'));
      return { handle: sent.handle, user: sequence?.steps[sent.stepIndex]?.oid, session: sequence?.session };
    },

    /** Names of those that did not answer so far; undefined for a logout that is too old to be known. */
    async unanswered(handle: string): Promise<readonly string[] | undefined> {
      const sequence = await read(handle);
      return sequence && [...new Set(sequence.steps.flatMap(({ name, state }) => (state === 'done' ? [] : [name])))];
    },
  };
}
