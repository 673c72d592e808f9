/**
 * What each user has of authentication requests: the ones that may wait, and when the last ones began. One record each, so that two requests that come at
 * once are counted one after the other. What became of a request its own record says; a request that the book does not name was replaced.
 */
import type { ArtifactKind, ExtensionContext } from '../../../lib/extension-door.js';
import { MAX_LIFETIME_SECONDS } from './record.js';

/** No person is worn down by requests. @see OWASP ASVS 6.6.4 */
const MAX_PENDING = 3;
/** Maximum requests to a user in ten minutes: of all clients, and of each client, so that one client cannot use up a user's limit for other clients. */
const MAX_RECENT = 10;
const MAX_RECENT_OF_CLIENT = 5;
const RECENT_MS = 600_000;

/** Beyond the end of the last request in it, and of the time in which requests are counted. */
export const userRequestsKind: ArtifactKind = {
  name: 'ciba.books',
  lifetimeSeconds: Math.max(MAX_LIFETIME_SECONDS, RECENT_MS / 1000) + 60,
};

export interface RequestEntry {
  readonly id: string;
  readonly clientId: string;
  /** When it began, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** When it ends, likewise. */
  readonly expiresAt: number;
}

interface UserRecord {
  readonly entries: readonly RequestEntry[];
  /** Requests that began in the last ten minutes, whatever their outcome. */
  readonly begun: readonly Pick<RequestEntry, 'clientId' | 'createdAt'>[];
}

const empty: UserRecord = { entries: [], begun: [] };

const recentOf = ({ clientId, createdAt }: RequestEntry): UserRecord['begun'][number] => ({ clientId, createdAt });

const isTooMany = (begun: UserRecord['begun'], { clientId }: RequestEntry): boolean =>
  begun.length >= MAX_RECENT || begun.filter((each) => each.clientId === clientId).length >= MAX_RECENT_OF_CLIENT;

export interface UserRequests {
  /** Requests of a user that may be pending. */
  entriesOf(oid: string): Promise<readonly RequestEntry[]>;
  /**
   * Enters a request, unless the user has as many as one may have.
   * @param decided which of these wait no more; asked where the book has any
   * @returns the entries of the same client that it takes the place of; undefined where it is one too many
   */
  enter(
    oid: string,
    entry: RequestEntry,
    decided: (entries: readonly RequestEntry[]) => Promise<ReadonlySet<string>>,
  ): Promise<readonly RequestEntry[] | undefined>;
}

export function createUserRequests({
  records: { artifact },
  service: { now },
}: Pick<ExtensionContext, 'records' | 'service'>): UserRequests {
  const records = () => artifact(userRequestsKind);
  const isWaiting = ({ expiresAt }: RequestEntry): boolean => expiresAt > now();
  return {
    async entriesOf(oid) {
      const { entries } = ((await records().read(oid)) ?? empty) as UserRecord;
      return entries.filter(isWaiting);
    },
    async enter(oid, entry, decided) {
      const { lifetimeSeconds } = userRequestsKind;
      // Most people have no book, and then there is nothing to read.
      if (await records().put(oid, { entries: [entry], begun: [recentOf(entry)] } satisfies UserRecord, { lifetimeSeconds })) return [];
      /** Whether an entry waits no more, of those whose records were read. */
      const isDecided = new Map<string, boolean>();
      for (;;) {
        let unread: readonly RequestEntry[] = [];
        let replaced: readonly RequestEntry[] | undefined;
        await records().update(
          oid,
          (value) => {
            const record = (value ?? empty) as UserRecord;
            const startedAt = now();
            const begun = record.begun.filter(({ createdAt }) => createdAt > startedAt - RECENT_MS);
            const entries = record.entries.filter(isWaiting);
            unread = entries.filter(({ id }) => !isDecided.has(id));
            const waiting = entries.filter(({ id }) => !isDecided.get(id));
            const others = waiting.filter(({ clientId }) => clientId !== entry.clientId);
            replaced = undefined;
            if (unread.length > 0 || isTooMany(begun, entry) || others.length >= MAX_PENDING) return value;
            replaced = waiting.filter(({ clientId }) => clientId === entry.clientId);
            return { entries: [...others, entry], begun: [...begun, { ...recentOf(entry), createdAt: startedAt }] } satisfies UserRecord;
          },
          { lifetimeSeconds },
        );
        if (unread.length === 0) return replaced;
        const decidedIds = await decided(unread);
        for (const { id } of unread) isDecided.set(id, decidedIds.has(id));
      }
    },
  };
}
