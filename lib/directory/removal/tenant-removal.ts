import { IdpError, isToldAlready } from '../../errors.js';
import type { Logger } from '../../logger.js';
import type { Row } from '../../store/directory-store.js';
import type { CheckedCollection } from '../../store/records/checked-directory.js';
import type { ApiResource, Client, Person, Removal } from '../../store/records/records.js';
import { offeredCredentials } from '../accounts/password-changes.js';
import { createCachedCollection } from '../cached-collection.js';
import type { DirectoryContext } from '../context.js';
import { patched } from '../input.js';
import { attributedEvent } from '../outbox/attribution.js';
import { changed, pendingEvent } from '../outbox/pending-events.js';
import { forgetSeeded } from '../seed-ledger.js';
import type { Forget } from './forgetting.js';

/** Removes what is kept of tenants that were removed, on one node at a time, and goes on where a node left off. */
export interface TenantRemoval {
  start(): void;
  /** Looks for removed tenants at once. */
  nudge(): void;
  close(): Promise<void>;
}

export interface TenantRemovalParts {
  readonly context: DirectoryContext;
  readonly forget: Forget;
  endLinks(person: Person): Promise<void>;
  /** Ends the sign-ins of a user, and tells the clients. */
  endSignIns(oid: string): Promise<void>;
  /** What extensions keep of the tenant. */
  removeRows(tid: string): Promise<void>;
  /** Milliseconds after which no request still writes to a tenant that it found before the removal. @default 5000 */
  readonly settledMs?: number | undefined;
  /** Takes or renews the right to do it; false while another node has it. */
  lease(): Promise<boolean>;
  readonly logger: Logger;
}

const PAGE = 50;
/** Milliseconds between two looks for tenants whose removal another node left off. */
const INTERVAL_MS = 5_000;
/** Caches of other nodes hear of a removal within a second, and no call of a store takes as long. */
const SETTLED_MS = 5_000;

/** The members of an unreadable person that the rest of it is found by. */
const readablePart = ({ id, tid, user }: Person): Person =>
  ({ id, tid, ...(typeof user?.id === 'string' && { user: { id: user.id } }) }) as unknown as Person;

/** The lease went to another node, or the service closes. */
class Interrupted extends Error {}

export function createTenantRemoval({ context, forget, ...parts }: TenantRemovalParts): TenantRemoval {
  const { collections, caches, now, removedUserIds, nudge: dispatch } = context;
  const clients = createCachedCollection<Client>('clients', collections.clients, context);
  const apiResources = createCachedCollection<ApiResource>('apiResources', collections.apiResources, context);
  const { settledMs = SETTLED_MS } = parts;
  let timer: NodeJS.Timeout | undefined;
  let soon: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isOpen = false;
  let again = false;

  /** Each row of a look-up, page by page, until it finds none. @param remove takes the row out of the look-up */
  async function each<R extends Row>(find: (limit: number) => Promise<readonly R[]>, remove: (row: R) => Promise<unknown>): Promise<void> {
    for (;;) {
      if (!isOpen || !(await parts.lease())) throw new Interrupted();
      const page = await find(PAGE);
      for (const row of page) await remove(row);
      if (page.length < PAGE) return;
    }
  }

  const ofTenant =
    <R extends Row>(rows: CheckedCollection<R>, tid: string) =>
    (limit: number) =>
      rows.withUnreadable().find({ byTenant: [tid] }, { limit });

  /** The document goes last: until then, the next round finds the person again. */
  async function removePerson(found: Person): Promise<void> {
    const person = collections.persons.withUnreadable().isReadable(found) ? found : readablePart(found);
    const { id: personId, tid, user } = person;
    await parts.endLinks(person);
    if (user) await parts.endSignIns(user.id);
    if (user) await removedUserIds.note(user.id);
    for (const id of [personId, ...(user ? [user.id] : [])]) await forgetSeeded(collections, id, now);
    await forget({ tid, personId, ...(user && { userId: user.id, credentialIds: offeredCredentials(user) }) });
    await collections.persons.retire(personId, [], (row) => row.tid === tid);
  }

  /** Lists of tenants that are left empty allow none: that is not the same as no list, which allows all. */
  async function removeFromLists(tid: string): Promise<void> {
    const without = (tids: readonly string[]) => tids.filter((one) => one !== tid);
    for (const { id, allowedTenants = [], adminTenants } of await collections.clients.find({})) {
      if (![...allowedTenants, ...adminTenants].includes(tid)) continue;
      const next = (row: Client): Client =>
        patched(now, row, {
          adminTenants: without(row.adminTenants),
          ...(row.allowedTenants && { allowedTenants: without(row.allowedTenants) }),
        });
      await clients
        .update(id, (row) => changed(row, next(row), pendingEvent(now, 'ClientUpdated', undefined, { AggregateId: id })) as Client)
        .catch(IdpError.unless('not_found', 'record_unreadable'));
    }
    for (const { id, allowedTenants = [] } of await collections.apiResources.find({})) {
      if (!allowedTenants.includes(tid)) continue;
      const next = (row: ApiResource): ApiResource =>
        patched(now, row, row.allowedTenants ? { allowedTenants: without(row.allowedTenants) } : {});
      await apiResources
        .update(
          id,
          (row) => changed(row, next(row), pendingEvent(now, 'ApiResourceUpdated', undefined, { AggregateId: id })) as ApiResource,
        )
        .catch(IdpError.unless('not_found', 'record_unreadable'));
    }
  }

  /** One round over all stores. A round that begins when nothing is written any more is the last, and raises the event. */
  async function remove({ id: tid, createdAt, by }: Removal): Promise<void> {
    const left = createdAt.getTime() + settledMs - now();
    // Where the node died that was asked to.
    if (await collections.tenants.retire(tid, [])) dispatch();
    await caches.changed('tenants');
    await removeFromLists(tid);
    await each(ofTenant(collections.persons, tid), removePerson);
    await each(ofTenant(collections.invitations, tid), ({ id }) => collections.invitations.remove(id));
    await each(ofTenant(collections.groups, tid), ({ id }) => collections.groups.retire(id, []));
    await each(ofTenant(collections.subsidiaries, tid), ({ id }) => collections.subsidiaries.retire(id, []));
    for (const collection of ['groups', 'subsidiaries'] as const) await caches.changed(collection);
    await parts.removeRows(tid);
    if (left <= 0)
      await collections.removals.retire(tid, [attributedEvent(pendingEvent(now, 'TenantRemoved', tid, { AggregateId: tid }), by)]);
    dispatch();
    if (left > 0 && isOpen) soon = setTimeout(round, left + 1).unref();
  }

  async function run(): Promise<void> {
    const removals = await collections.removals.find({});
    if (removals.length === 0 || !(await parts.lease())) return;
    for (const removal of removals)
      await remove(removal).catch((err: unknown) => {
        if (err instanceof Interrupted || isToldAlready(err)) throw err;
        parts.logger.error({ err, tid: removal.id }, 'what is kept of a removed tenant could not be removed; another attempt follows');
      });
  }

  function round(): void {
    again = true;
    running ??= (async () => {
      while (again && isOpen) {
        again = false;
        await run();
      }
    })()
      .catch((err: unknown) => {
        if (!(err instanceof Interrupted) && !isToldAlready(err)) parts.logger.error({ err }, 'removed tenants could not be looked for');
      })
      .finally(() => {
        running = undefined;
      });
  }

  return {
    start() {
      isOpen = true;
      timer = setInterval(round, INTERVAL_MS).unref();
      round();
    },
    nudge() {
      if (isOpen) round();
    },
    async close() {
      isOpen = false;
      clearInterval(timer);
      clearTimeout(soon);
      await running;
    },
  };
}
