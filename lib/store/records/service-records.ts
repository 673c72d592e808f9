/** Records that the service keeps for its own work: signing keys, events, deliveries, removals, the ledger of seeds. */
import { Type } from '@sinclair/typebox';
import { checked, data, oneOf, type Shape, typed } from './shape.js';
import { outboxed, type PendingEvent, pendingEvent, pendingEventMembers, stored } from './stored.js';

const row = { id: stored.id, version: stored.version };

export const storedSigningKey = Type.Object({
  kid: Type.String(),
  alg: oneOf('RS256', 'ES256'),
  /**
   * State of the signing key. `next`: announced. `active`: signs. `retiring`: no longer signs, and still verifies its signatures. A removed
   * signing key has no record.
   */
  state: oneOf('next', 'active', 'retiring'),
  /** The private key, a JWK, encrypted. */
  sealed: Type.String(),
  /** Instant at which the signing key was made and announced. */
  announcedAt: Type.Date(),
  activatedAt: Type.Optional(Type.Date()),
  retiredAt: Type.Optional(Type.Date()),
  /** Instant at which a retiring signing key is to be removed. */
  removeAt: Type.Optional(Type.Date()),
});
/** A signing key. The service publishes the signing key in each of its states, in addition to the signing keys of the other algorithm. */
export interface StoredSigningKey extends Shape<typeof storedSigningKey> {}

const isAnything = () => true;
/** Signing needs this one row, so its readers check each signing key and each event separately. */
export const keyRing = Type.Object({
  ...row,
  createdAt: checked(stored.createdAt, isAnything),
  updatedAt: checked(stored.updatedAt, isAnything),
  keys: checked(Type.Array(typed<StoredSigningKey>(storedSigningKey)), isAnything),
  pendingEvents: checked(Type.Array(typed<PendingEvent>(pendingEvent)), isAnything),
  /** `yes` while {@link pendingEvents} has any, for the index. */
  outbox: checked(outboxed.outbox, isAnything),
});
/**
 * All signing keys and the events of their rotations. Signing keys are in one document, so that each reader sees one state of all of them.
 * The collection has one row.
 */
export interface KeyRing extends Shape<typeof keyRing> {}

export const eventRecord = Type.Object({
  ...pendingEventMembers,
  ...row,
  id: checked(row.id, (value) => typeof value === 'string' && /^\d{16}$/.test(value)),
  eventId: Type.String(),
  /** Instant at which the event got its number. `time` is the instant at which the event happened. */
  recordedAt: Type.Date(),
  /** Instant at which the dispatch of the event was given up, because a listener failed too often. */
  parkedAt: Type.Optional(Type.Date()),
});
/** An event in the one order that every reader follows. The id of the record is the event's number: 16 digits, without a gap. */
export interface EventRecord extends Shape<typeof eventRecord> {}

export const delivery = Type.Object({
  ...stored,
  /** Kind of the delivery, such as `backchannel-logout`. */
  kind: Type.String(),
  data: data(),
  /** Id that the deliveries of one enqueue share. */
  batch: Type.Optional(Type.String()),
  /** State of the delivery. `dead`: given up. */
  state: oneOf('waiting', 'dead'),
  attempts: Type.Integer(),
  /** Instant at which the next attempt may begin. For a dead delivery, the instant at which it is removed. */
  due: Type.Date(),
  /** The reason why the last attempt failed. */
  problem: Type.Optional(Type.String()),
});
/** A message to another party, kept until the other party has accepted it. */
export interface Delivery extends Shape<typeof delivery> {}

export const seedRecord = Type.Object({
  ...row,
  /** The record's id. The id differs from the id in the seed if a record of that name existed already. */
  recordId: Type.String(),
  /** The record's `createdAt`, which distinguishes it from a later record with the same id. */
  recordCreatedAt: Type.Optional(Type.Date()),
  /** Instant at which the record was complete; absent before. The next start completes a record that a node left incomplete. */
  madeAt: Type.Optional(Type.Date()),
  values: Type.Array(Type.Object({ field: Type.String(), digest: Type.String() })),
  items: Type.Array(Type.Object({ field: Type.String(), item: Type.String(), isInSeed: Type.Boolean() })),
  /** Whether the record existed already, and a seed found it. */
  isFound: Type.Optional(Type.Literal(true)),
  /** In the row `origin`: records existed before the ledger did, so an absent record may have been removed. */
  isAfterRecords: Type.Optional(Type.Boolean()),
});
/**
 * The changes that seeds made to one record, so that no seed makes them again. `values` keeps a digest of each value that a seed gave. `items`
 * keeps the things that a seed gives once: a scope, a group's id, a secret's hash. One row, named `origin`, states how the ledger began.
 */
export interface SeedRecord extends Shape<typeof seedRecord> {}

export const removal = Type.Object({
  ...stored,
  ...outboxed,
  /** The actor of the removal, as the event names it. */
  by: typed<Pick<PendingEvent, 'actor' | 'act' | 'requestId'>>(data()),
});
/** A tenant that was removed, until all its data is removed. The id of the record is the tenant's id. */
export interface Removal extends Shape<typeof removal> {}

export const accountEventsRow = Type.Object({
  ...row,
  /** Empty, as in the rest of an erased person: the row belongs to no tenant, and the dispatcher removes the row with its last event. */
  tid: Type.Literal(''),
  ...outboxed,
  pendingEvents: Type.Array(typed<PendingEvent>(pendingEvent)),
});
/** Events of an account that change no record, until they are dispatched. One row for each account, so that its events stay in their order. */
export interface AccountEventsRow extends Shape<typeof accountEventsRow> {}

export const removedUser = Type.Object({ ...row, sealed: Type.Optional(Type.Array(Type.String())) });
/**
 * The id of a removed user. The row's id is a keyed hash of the user's id, and the row has nothing else. The row with the id `keys` has the
 * hash keys, encrypted.
 */
export interface RemovedUser extends Shape<typeof removedUser> {}

const sweptRow = Type.Object({ collection: Type.String(), id: Type.String() });
/** A row that the sweep found. */
export interface SweptRow extends Shape<typeof sweptRow> {}

export const upkeepRecord = Type.Object({
  ...row,
  done: Type.Integer(),
  /** The hash keys, encrypted. Only in the row `keys of national ids`. */
  sealed: Type.Optional(Type.Array(Type.String())),
  /** State of the sweep. Only in the row `sweep of records`. */
  sweep: Type.Optional(
    Type.Object({
      /** Instant at which the last pass over all records began. */
      startedAt: Type.Date(),
      /** The collection at which the pass continues. Absent when the pass has ended. */
      collection: Type.Optional(Type.String()),
      /** The last row of the collection that was read. */
      after: Type.Optional(Type.String()),
      /** A bounded number of the unreadable rows that were found. */
      unreadable: Type.Array(typed<SweptRow>(sweptRow)),
      /** A bounded number of the readable rows that have a problem. */
      dangling: Type.Optional(Type.Array(typed<SweptRow>(sweptRow))),
    }),
  ),
});
/** Work over all records that was done. `keys of <collection>`: the version of the derived members that all of its rows have. */
export interface UpkeepRecord extends Shape<typeof upkeepRecord> {}

export const changeRecord = Type.Object({
  ...row,
  writes: Type.Array(
    Type.Object({
      collection: Type.String(),
      /** Ids of the written rows. Absent if any row of the collection may have been written. */
      ids: Type.Optional(Type.Array(Type.String())),
      /** Whether the writes left background work: events to dispatch, or a tenant to remove. */
      work: Type.Optional(Type.Boolean()),
    }),
  ),
});
/** Writes of one node that the caches of all nodes have to know. The ids of the entries have the order of the time that all nodes share. */
export interface ChangeRecord extends Shape<typeof changeRecord> {}
