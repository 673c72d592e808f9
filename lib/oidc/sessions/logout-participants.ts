/**
 * Extensions that are notified of the end of sign-ins. The notices are queued before the end of a sign-in. The browser visits the URLs of the extensions
 * after the end.
 */

import type { EndedSignIn, LogoutParticipant } from '../../contract/sign-in/logout-participant.js';
import { digestOfKey } from '../../store/artifact-key.js';
import type { ArtifactKey } from '../../store/artifact-store.js';
import { canParseUrl } from '../../text/can-parse-url.js';
import type { OurSession } from '../accounts/login-context.js';
import type { SessionPayload } from '../artifacts/session-merge.js';
import type { OidcDependencies } from '../context.js';

type Parts = Pick<OidcDependencies, 'participants' | 'logger' | 'directory'>;

/** Returns the sign-in that ends with the session; undefined if nobody is signed in. */
export function endedSignIn(session: Pick<SessionPayload, 'accountId'> | OurSession, key: ArtifactKey): EndedSignIn | undefined {
  const { accountId: oid, sub, idp = 'local', act } = session as OurSession;
  return oid === undefined ? undefined : { session: digestOfKey(key), oid, sub: sub ?? oid, idp, ...(act ? { act } : {}) };
}

const kindOf = (extension: string): string => `logout of ${extension}`;

/** Returns the deliveries to participants. */
export async function participantDeliveries({ participants }: Parts, ended: EndedSignIn) {
  const all = [...participants()].map(async ([extension, { notices }]) =>
    ((await notices?.(ended)) ?? []).map(({ name, notice }) => ({ kind: kindOf(extension), data: { name, notice } })),
  );
  return (await Promise.all(all)).flat();
}

/** Sends queued notices, including notices that were queued before the start. */
export function sendParticipantNotices({ participants, directory }: Pick<Parts, 'participants' | 'directory'>): void {
  for (const [extension, participant] of participants())
    directory.deliveries.handle(kindOf(extension), async ({ data }) => participant.send?.(data.notice as Record<string, unknown>));
}

/** Creates the steps of the browser after the end of the sign-in. A participant that fails is left out, because the sign-in has ended already. */
export function createAfterSignOut({ participants, logger }: Parts) {
  async function asked<T>(extension: string, none: T, ask: () => T | Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      logger.error({ err: error, extension }, 'a logout participant failed');
      return none;
    }
  }
  const fromEach = async <T>(ask: (participant: LogoutParticipant) => Promise<readonly T[]>): Promise<readonly T[]> =>
    (await Promise.all([...participants()].map(([name, each]) => asked<readonly T[]>(name, [], () => ask(each))))).flat();

  const ofAll = async <T>(all: readonly EndedSignIn[], ask: (ended: EndedSignIn) => Promise<readonly T[]>): Promise<readonly T[]> =>
    (await Promise.all(all.map(ask))).flat();

  return {
    frames: (all: readonly EndedSignIn[]) =>
      ofAll(all, (ended) =>
        fromEach(async ({ frames }) => ((await frames?.(ended)) ?? []).filter(({ uri }) => canParseUrl(uri) && /^https?:/i.test(uri))),
      ),
    unanswered: (all: readonly EndedSignIn[]) =>
      ofAll(all, (ended) => fromEach(async (participant) => (await participant.unanswered?.(ended)) ?? [])),
    /** Returns the URL that the browser visits on its way to `target`. */
    async visits(all: readonly EndedSignIn[], target: string): Promise<string> {
      let next = target;
      for (const ended of [...all].reverse())
        for (const [name, participant] of [...participants()].reverse())
          next = (await asked<string | undefined>(name, undefined, async () => participant.visit?.(ended, next))) ?? next;
      return next;
    },
  };
}

export type AfterSignOut = ReturnType<typeof createAfterSignOut>;
