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
export const bookKind: ArtifactKind = { name: 'ciba.books', lifetimeSeconds: Math.max(MAX_LIFETIME_SECONDS, RECENT_MS / 1000) + 60 };

export interface Entry {
  readonly id: string;
  readonly clientId: string;
  /** When it began, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** When it ends, likewise. */
  readonly expiresAt: number;
}

interface Book {
  readonly entries: readonly Entry[];
  /** Requests that began in the last ten minutes, whatever their outcome. */
  readonly begun: readonly Pick<Entry, 'clientId' | 'createdAt'>[];
}

const empty: Book = { entries: [], begun: [] };

const begunBy = ({ clientId, createdAt }: Entry): Book['begun'][number] => ({ clientId, createdAt });

const isTooMany = (begun: Book['begun'], { clientId }: Entry): boolean =>
  begun.length >= MAX_RECENT || begun.filter((each) => each.clientId === clientId).length >= MAX_RECENT_OF_CLIENT;

export interface Books {
  /** Requests of a user that may be pending. */
  entriesOf(oid: string): Promise<readonly Entry[]>;
  /**
   * Enters a request, unless the user has as many as one may have.
   * @param decided which of these wait no more; asked where the book has any
   * @returns the entries of the same client that it takes the place of; undefined where it is one too many
   */
  enter(
    oid: string,
    entry: Entry,
    decided: (entries: readonly Entry[]) => Promise<ReadonlySet<string>>,
  ): Promise<readonly Entry[] | undefined>;
}

export function createBooks({ records: { artifact }, service: { now } }: Pick<ExtensionContext, 'records' | 'service'>): Books {
  const books = () => artifact(bookKind);
  const isWaiting = ({ expiresAt }: Entry): boolean => expiresAt > now();
  return {
    async entriesOf(oid) {
      const { entries } = ((await books().read(oid)) ?? empty) as Book;
      return entries.filter(isWaiting);
    },
    async enter(oid, entry, decided) {
      const { lifetimeSeconds } = bookKind;
      // Most people have no book, and then there is nothing to read.
      if (await books().put(oid, { entries: [entry], begun: [begunBy(entry)] } satisfies Book, { lifetimeSeconds })) return [];
      /** Whether an entry waits no more, of those whose records were read. */
      const isDecided = new Map<string, boolean>();
      for (;;) {
        let unread: readonly Entry[] = [];
        let replaced: readonly Entry[] | undefined;
        await books().update(
          oid,
          (value) => {
            const book = (value ?? empty) as Book;
            const at = now();
            const begun = book.begun.filter(({ createdAt }) => createdAt > at - RECENT_MS);
            const entries = book.entries.filter(isWaiting);
            unread = entries.filter(({ id }) => !isDecided.has(id));
            const waiting = entries.filter(({ id }) => !isDecided.get(id));
            const others = waiting.filter(({ clientId }) => clientId !== entry.clientId);
            replaced = undefined;
            if (unread.length > 0 || isTooMany(begun, entry) || others.length >= MAX_PENDING) return value;
            replaced = waiting.filter(({ clientId }) => clientId === entry.clientId);
            return { entries: [...others, entry], begun: [...begun, { ...begunBy(entry), createdAt: at }] } satisfies Book;
          },
          { lifetimeSeconds },
        );
        if (unread.length === 0) return replaced;
        const over = await decided(unread);
        for (const { id } of unread) isDecided.set(id, over.has(id));
      }
    },
  };
}
