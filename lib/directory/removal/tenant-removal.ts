import { type Round, type Rounds, rounds, type WorkProblem } from '../../background/rounds.js';
import type { Lease } from '../../background/tenure.js';
import { IdpError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import type { Row } from '../../store/directory-store.js';
import type { CheckedCollection } from '../../store/records/checked-directory.js';
import type { ApiResource, Client, Person, Removal } from '../../store/records/records.js';
import { offeredCredentials } from '../accounts/password-changes.js';
import { type CachedCollection, createCachedCollection } from '../cached-collection.js';
import type { DirectoryContext } from '../context.js';
import { patched } from '../input.js';
import { attributedEvent } from '../outbox/attribution.js';
import { changed, pendingEvent } from '../outbox/pending-events.js';
import { forgetSeeded } from '../seed-ledger.js';
import type { Forget } from './forgetting.js';

/** Removes the data of removed tenants, on one node at a time. Another node continues where a node stopped. */
export interface TenantRemoval {
  start(): void;
  /** Checks for removed tenants immediately. */
  nudge(): void;
  /** Returns current failures. */
  problems(): readonly WorkProblem[];
  close(): Promise<void>;
}

export interface TenantRemovalParts {
  readonly context: DirectoryContext;
  readonly forget: Forget;
  endLinks(person: Person): Promise<void>;
  /** Ends the sign-ins of a user, and notifies the clients. */
  endSignIns(oid: string): Promise<void>;
  /** Removes rows of extensions. */
  removeRows(tid: string): Promise<void>;
  /** Milliseconds after which no request still writes to a tenant that it read before the removal. @default 5000 */
  readonly settledMs?: number | undefined;
  readonly lease: Lease;
  readonly logger: Logger;
}

const PAGE = 50;
/** Milliseconds between two checks for tenants whose removal another node did not complete. */
const INTERVAL_MS = 5_000;
/** Milliseconds until no request writes to the tenant. Caches of other nodes are notified of a removal within a second, and no store call takes as long. */
const SETTLED_MS = 5_000;

export const createTenantRemoval = (parts: TenantRemovalParts): TenantRemoval => new Removals(parts);

/** The round had to end before its work was done. */
class Interrupted extends Error {}

class Removals implements TenantRemoval {
  readonly #parts: TenantRemovalParts;
  readonly #clients: CachedCollection<Client>;
  readonly #apiResources: CachedCollection<ApiResource>;
  readonly #work: Rounds;

  constructor(parts: TenantRemovalParts) {
    const { context, lease, logger } = parts;
    const { collections } = context;
    this.#parts = parts;
    this.#clients = createCachedCollection<Client>('clients', collections.clients, context);
    this.#apiResources = createCachedCollection<ApiResource>('apiResources', collections.apiResources, context);
    this.#work = rounds({
      name: 'tenant removals',
      every: INTERVAL_MS,
      lease,
      isDue: async () => (await collections.removals.find({}, { limit: 1 })).length > 0,
      run: (round) => this.#round(round),
      logger,
      messages: {
        round: 'the service could not look for removed tenants, and retries',
        row: 'the service could not remove the records of a removed tenant, and retries',
      },
    });
  }

  start(): void {
    this.#work.start();
  }

  nudge(): void {
    this.#work.nudge();
  }

  problems(): readonly WorkProblem[] {
    return this.#work.problems();
  }

  close(): Promise<void> {
    return this.#work.close();
  }

  /** Removes one tenant after another. @returns milliseconds until a removal can be completed */
  async #round(round: Round): Promise<number | undefined> {
    const waits: number[] = [];
    for (const removal of await this.#parts.context.collections.removals.find({})) {
      await round.attempt(removal, async () => {
        const wait = await this.#remove(removal, round).catch((error: unknown) => {
          if (!(error instanceof Interrupted)) throw error;
        });
        if (wait !== undefined) waits.push(wait);
        return undefined;
      });
      await round.idle();
    }
    return waits.length > 0 ? Math.min(INTERVAL_MS, ...waits) : undefined;
  }

  /**
   * Removes data from all stores once. A pass that starts after the last possible write is the last one, and raises the event.
   * @returns milliseconds until that pass; undefined if it was the last
   */
  async #remove({ id: tid, createdAt, by }: Removal, round: Round): Promise<number | undefined> {
    const { context, settledMs = SETTLED_MS, removeRows } = this.#parts;
    const { collections, caches, now } = context;
    const left = createdAt.getTime() + settledMs - now();
    // The node that was asked to remove the tenant may have died.
    await collections.tenants.retire(tid, []);
    await caches.changed('tenants', tid);
    await this.#removeFromLists(tid);
    await each(round, ofTenant(collections.persons, tid), (person) => this.#removePerson(person));
    await each(round, ofTenant(collections.invitations, tid), ({ id }) => collections.invitations.remove(id));
    await each(round, ofTenant(collections.groups, tid), ({ id }) => collections.groups.retire(id, []));
    await each(round, ofTenant(collections.subsidiaries, tid), ({ id }) => collections.subsidiaries.retire(id, []));
    await removeRows(tid);
    if (left > 0) return left + 1;
    await collections.removals.retire(tid, [attributedEvent(pendingEvent(now, 'TenantRemoved', tid, { AggregateId: tid }), by)]);
    return undefined;
  }

  /** Removes the document last, so that the next round finds the person again. */
  async #removePerson(stored: Person): Promise<void> {
    const { context, forget, endLinks, endSignIns } = this.#parts;
    const { collections, removedUserIds, now } = context;
    const person = collections.persons.withUnreadable().isReadable(stored) ? stored : readablePart(stored);
    const { id: personId, tid, user } = person;
    await endLinks(person);
    if (user) await endSignIns(user.id);
    if (user) await removedUserIds.note(user.id);
    for (const id of [personId, ...(user ? [user.id] : [])]) await forgetSeeded(collections, id, now);
    await forget({ tid, personId, ...(user && { userId: user.id, credentialIds: offeredCredentials(user) }) });
    await collections.persons.retire(personId, [], (row) => row.tid === tid);
  }

  /** Removes the tenant from lists of tenants. A list that becomes empty stays and allows no tenant, because a missing list would allow all. */
  async #removeFromLists(tid: string): Promise<void> {
    const { collections, now } = this.#parts.context;
    const without = (tids: readonly string[]) => tids.filter((one) => one !== tid);
    for (const { id, allowedTenants = [], adminTenants } of await collections.clients.find({})) {
      if (![...allowedTenants, ...adminTenants].includes(tid)) continue;
      const next = (row: Client): Client =>
        patched(now, row, {
          adminTenants: without(row.adminTenants),
          ...(row.allowedTenants && { allowedTenants: without(row.allowedTenants) }),
        });
      await this.#clients
        .update(id, (row) => changed(row, next(row), pendingEvent(now, 'ClientUpdated', undefined, { AggregateId: id })) as Client)
        .catch(IdpError.unless('not_found', 'record_unreadable'));
    }
    for (const { id, allowedTenants = [] } of await collections.apiResources.find({})) {
      if (!allowedTenants.includes(tid)) continue;
      const next = (row: ApiResource): ApiResource =>
        patched(now, row, row.allowedTenants ? { allowedTenants: without(row.allowedTenants) } : {});
      const event = pendingEvent(now, 'ApiResourceUpdated', undefined, { AggregateId: id });
      await this.#apiResources
        .update(id, (row) => changed(row, next(row), event) as ApiResource)
        .catch(IdpError.unless('not_found', 'record_unreadable'));
    }
  }
}

/** Returns the members of an unreadable person by which other data of the person is found. */
const readablePart = ({ id, tid, user }: Person): Person =>
  ({ id, tid, ...(typeof user?.id === 'string' && { user: { id: user.id } }) }) as unknown as Person;

/**
 * Calls `remove` for each row of a look-up, page by page, until the look-up finds none. @param remove removes the row from the look-up @throws Interrupted
 */
async function each<R extends Row>(
  round: Round,
  find: (limit: number) => Promise<readonly R[]>,
  remove: (row: R) => Promise<unknown>,
): Promise<void> {
  for (;;) {
    if (!(await round.goesOn())) throw new Interrupted();
    const page = await find(PAGE);
    for (const row of page) await remove(row);
    if (page.length < PAGE) return;
  }
}

const ofTenant =
  <R extends Row>(rows: CheckedCollection<R>, tid: string) =>
  (limit: number) =>
    rows.withUnreadable().find({ byTenant: [tid] }, { limit });
