/**
 * The authentication requests of each user: entries of requests that may be pending, and the times of recent requests. Each user has one record, so that
 * concurrent requests are counted one after the other. The outcome of a request is in its own record. A request without an entry was replaced.
 */
import type { ArtifactKind, ExtensionContext } from '../../../lib/extension-door.js';
import { MAX_LIFETIME_SECONDS } from './record.js';

/** Maximum pending requests of a user, so that requests cannot tire a user into an approval. @see OWASP ASVS 6.6.4 */
const MAX_PENDING = 3;
/**
 * Maximum requests to a user in ten minutes: of all clients, and of each client. The second maximum keeps one client from using up the rate limit of the
 * user for other clients.
 */
const MAX_RECENT = 10;
const MAX_RECENT_OF_CLIENT = 5;
const RECENT_MS = 600_000;

/**
 * Records of the requests to a user: ids and times, so they are not encrypted. A record outlives its last request, and the time in which requests are
 * counted.
 */
export const userRequestsKind: ArtifactKind = {
  name: 'ciba.books',
  lifetimeSeconds: Math.max(MAX_LIFETIME_SECONDS, RECENT_MS / 1000) + 60,
  unsealed: true,
};

export interface RequestEntry {
  readonly id: string;
  readonly clientId: string;
  /** When the request began, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** When the request expires, in milliseconds since the epoch. */
  readonly expiresAt: number;
}

interface UserRecord {
  readonly entries: readonly RequestEntry[];
  /** Requests that began in the last ten minutes, with any outcome. */
  readonly begun: readonly Pick<RequestEntry, 'clientId' | 'createdAt'>[];
}

const empty: UserRecord = { entries: [], begun: [] };

const recentOf = ({ clientId, createdAt }: RequestEntry): UserRecord['begun'][number] => ({ clientId, createdAt });

const isTooMany = (begun: UserRecord['begun'], { clientId }: RequestEntry): boolean =>
  begun.length >= MAX_RECENT || begun.filter((each) => each.clientId === clientId).length >= MAX_RECENT_OF_CLIENT;

export interface UserRequests {
  /** Returns the entries of a user's requests that may be pending. */
  entriesOf(oid: string): Promise<readonly RequestEntry[]>;
  /**
   * Adds an entry, unless the user has the maximum of requests.
   * @param decided returns the ids of the entries whose requests are no longer pending. The function is called if the record has entries.
   * @returns the entries of the same client, which the new entry replaces; undefined if the user has too many requests
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
      // Most users have no record, and then there is nothing to read.
      if (await records().put(oid, { entries: [entry], begun: [recentOf(entry)] } satisfies UserRecord, { lifetimeSeconds })) return [];
      /** Whether a request is no longer pending, for the entries whose records were read. */
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
