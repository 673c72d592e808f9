import { isDeepStrictEqual } from 'node:util';
import { IdpError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import type { SeedRecord, Stored } from '../../store/records/records.js';
import { newId } from '../identifiers.js';
import { type SeededCollection, type SeedLedger, seedEntryId } from '../seed-ledger.js';
import { decide, NOT_OURS, type SeedFields, type SeedNotes, seedChanges, seededNotes } from './changes.js';

/** One record of a seed. */
export interface SeedPiece<R extends { readonly id: string }> {
  readonly collection: SeededCollection;
  /**
   * The id of the ledger's entry. The record has the same id, unless the seed found a record of that name, or another actor took the
   * derived id first.
   */
  readonly id: string;
  /** Whether the id follows from issuer and names. Anybody can compute such an id, so a record with this id need not be the seed's. */
  readonly isDerived?: boolean;
  readonly fields: SeedFields;
  /** Values that a creation writes for members which `fields` leaves out. */
  readonly defaults?: SeedFields;
  /**
   * Returns the record as it is stored now.
   * @param recordId of the record that an earlier seed created or found. If absent, the record is found by its name, or by its id unless the id is
   * derived
   */
  find(recordId: string | undefined): Promise<R | undefined>;
  /** @param recordId the id of the new record */
  create(recordId: string): Promise<unknown>;
  /** @param isMade whether a seed created the record. Otherwise the seed found it. */
  update(recordId: string, patch: Record<string, unknown>, isMade: boolean): Promise<unknown>;
  /** A value that cannot be compared with a member, because only its hash is stored. */
  readonly apart?: SeedPart<R>;
  /** Elements that are given later, and never to a record that was found. */
  readonly later?: SeedNotes['items'];
}

export interface SeedPart<R> {
  readonly field: string;
  /** Element that a record gets at most once. */
  readonly once?: string;
  /** Whether {@link SeedPiece.create} leaves it to {@link set}. */
  readonly isMadeApart?: boolean;
  /** Returns the digest of the stored value. */
  digest(record: R): Promise<string | undefined>;
  /** Returns the digest of the seed's value, once it is stored. */
  seedDigest(record: R): Promise<string | undefined>;
  isEqual(record: R): Promise<boolean>;
  set(record: R): Promise<unknown>;
}

export interface SeedRun {
  /** Creates or changes the record. Resolves to the record, if the record exists then. */
  apply<R extends { readonly id: string }>(piece: SeedPiece<R>): Promise<R | undefined>;
  /** Returns the id of an applied record that exists. */
  recordId(collection: SeededCollection, id: string): string | undefined;
  /** Returns whether a seed created the applied record. Otherwise the seed found it. */
  isMade(collection: SeededCollection, id: string): boolean;
  /** Gives a record something once. @param give resolves to false if a change by another actor prevents it */
  once(collection: SeededCollection, id: string, what: SeedNotes['items'][number], give: () => Promise<boolean>): Promise<void>;
  /**
   * Notes a privilege or a membership that the seed does not give, because another actor created the record, or added members to the group.
   * @param later the element that a later run of the seed may give. @default none: the element counts as given
   */
  withhold(collection: SeededCollection, id: string, what: string, later?: Pick<SeedNotes['items'][number], 'field' | 'item'>): void;
  /** Logs what the run did, and what it left unchanged. */
  tell(logger: Logger): void;
}

/** @param mode `create` creates records and changes none. */
export async function createSeedRun(ledger: SeedLedger, mode: 'create' | 'update'): Promise<SeedRun> {
  const { entries, isAfterRecords } = await ledger.read();
  return new LedgerRun({ ledger, mode, entries, isAfterRecords });
}

interface RunParts extends Awaited<ReturnType<SeedLedger['read']>> {
  readonly ledger: SeedLedger;
  readonly mode: 'create' | 'update';
}

type SeedItem = Pick<SeedNotes['items'][number], 'field' | 'item'>;

const isItem =
  ({ field, item }: SeedItem) =>
  (one: SeedItem): boolean =>
    one.field === field && one.item === item;

class LedgerRun implements SeedRun {
  readonly #parts: RunParts;
  readonly #present = new Map<string, { readonly recordId: string; readonly isMade: boolean }>();
  /** Elements that a later run may give, by the entry of the ledger. */
  readonly #waiting = new Map<string, readonly SeedItem[]>();
  readonly #log: RunLog = {
    made: [],
    changed: [],
    left: [],
    gone: [],
    unknown: [],
    unreadable: [],
    taken: [],
    moved: [],
    withheld: [],
  };

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  async apply<R extends { readonly id: string }>(piece: SeedPiece<R>): Promise<R | undefined> {
    const id = seedEntryId(piece.collection, piece.id);
    return this.#apply(piece, id).catch((error: unknown) => {
      if (!IdpError.is(error, 'record_unreadable')) throw error;
      this.#log.unreadable.push(id);
      return undefined;
    });
  }

  recordId(collection: SeededCollection, id: string): string | undefined {
    return this.#present.get(seedEntryId(collection, id))?.recordId;
  }

  isMade(collection: SeededCollection, id: string): boolean {
    return this.#present.get(seedEntryId(collection, id))?.isMade === true;
  }

  async once(collection: SeededCollection, id: string, what: SeedNotes['items'][number], give: () => Promise<boolean>): Promise<void> {
    const { ledger } = this.#parts;
    const entryId = seedEntryId(collection, id);
    const entry = await ledger.entry(entryId);
    if (entry === undefined || entry.items.some(isItem(what))) return;
    if (await give()) this.#log.changed.push(entryId);
    else this.#log.left.push(`${entryId} ${what.field}`);
    await ledger.write(entryId, (row) => noted(row, { values: [], items: [what] }));
  }

  withhold(collection: SeededCollection, id: string, what: string, later?: SeedItem): void {
    const entryId = seedEntryId(collection, id);
    this.#log.withheld.push(`${entryId} ${what}`);
    if (later) this.#waiting.set(entryId, [...(this.#waiting.get(entryId) ?? []), later]);
  }

  tell(logger: Logger): void {
    tell(this.#log, logger);
  }

  async #apply<R extends { readonly id: string }>(piece: SeedPiece<R>, id: string): Promise<R | undefined> {
    const { ledger, mode, entries, isAfterRecords } = this.#parts;
    let entry = entries.get(id);
    let record = await piece.find(entry?.recordId);
    // If the ledger does not cover earlier seeds, an earlier seed probably created a record with this id.
    if (entry === undefined && isAfterRecords) record ??= await piece.find(piece.id);
    if (entry === undefined) {
      const entered = await this.#enter(piece, id, record);
      if (entered.isFinal) return this.#noted(id, record, undefined);
      ({ entry } = entered);
      if (!entered.isNew) record = await piece.find(entry.recordId);
    }
    if (record !== undefined && !isOfEntry(record, entry)) record = undefined;
    if (entry.madeAt === undefined) {
      record = await this.#finish(piece, entry, record);
      entry = (await ledger.entry(id)) ?? entry;
    } else if (record === undefined) this.#log.gone.push(id);
    else if (mode === 'update') await this.#change(piece, entry, record);
    return this.#noted(id, record, entry);
  }

  /** Remembers a record that exists now. */
  #noted<R extends { readonly id: string }>(id: string, record: R | undefined, entry: SeedRecord | undefined): R | undefined {
    if (record !== undefined) this.#present.set(id, { recordId: record.id, isMade: entry !== undefined && !entry.isFound });
    return record;
  }

  /**
   * Enters a record that no seed entered before.
   * @returns with `isFinal` if nothing more is done with the record, because the seed found it, or another actor may have removed it
   */
  async #enter<R extends { readonly id: string }>(piece: SeedPiece<R>, id: string, record: R | undefined) {
    const { ledger, isAfterRecords } = this.#parts;
    const isFound = record !== undefined || isAfterRecords;
    const notes = record ? await settledNotes(piece, record) : seededNotes({}, piece.fields);
    const items = [...notes.items, ...(piece.apart && !record ? itemsOf(piece.apart) : []), ...(piece.later ?? [])];
    const whole = isFound
      ? { madeAt: new Date(ledger.now()), values: notes.values, items, ...(record && { isFound: true as const }) }
      : { values: [], items: [] };
    const identity = record ? identityOf(record) : { recordId: await this.#freeId(piece) };
    const { entry, isNew } = await ledger.enter({ id, ...identity, ...whole });
    if (isNew && !isFound && entry.recordId !== piece.id) this.#log.moved.push(id);
    if (isNew && isFound && record === undefined) this.#log.unknown.push(id);
    return { entry, isNew, isFinal: isNew && isFound };
  }

  /**
   * Returns the id for a record that no seed entered before. If a record has the derived id already, another actor created it, in any
   * tenant.
   */
  async #freeId<R extends { readonly id: string }>({ collection, id, isDerived }: SeedPiece<R>): Promise<string> {
    return isDerived && (await this.#parts.ledger.has(collection, id)) ? newId() : id;
  }

  /** Completes a record that no node has completed yet. */
  async #finish<R extends { readonly id: string }>(
    piece: SeedPiece<R>,
    entry: SeedRecord,
    existing: R | undefined,
  ): Promise<R | undefined> {
    const { ledger } = this.#parts;
    const { record, isNew } = existing ? { record: existing, isNew: false } : await this.#make(piece, entry);
    if (record === undefined) return undefined;
    const { apart } = piece;
    if (apart?.isMadeApart && (await apart.digest(record)) === undefined) await apart.set(record);
    const notes = await settledNotes(piece, record);
    await ledger.write(entry.id, (row) => {
      if (row.madeAt) return row;
      const { isFound, ...rest } = row;
      return { ...rest, ...(isFound && !isNew && { isFound }), madeAt: new Date(ledger.now()), ...identityOf(record), ...notes };
    });
    return record;
  }

  async #make<R extends { readonly id: string }>(piece: SeedPiece<R>, { id, recordId }: SeedRecord) {
    const refused = await piece.create(recordId).then(() => undefined, unlessTaken);
    const record = await piece.find(recordId);
    if (refused === undefined) this.#log.made.push(id);
    else if (record === undefined) {
      this.#log.taken.push(id);
      // The other owner of the id or the name may create the record before a seed can.
      await this.#parts.ledger.write(id, (row) => (row.madeAt || row.isFound ? row : { ...row, isFound: true }));
    }
    return { record, isNew: refused === undefined };
  }

  async #change<R extends { readonly id: string }>(piece: SeedPiece<R>, entry: SeedRecord, record: R): Promise<void> {
    const { patch, notes, left } = seedChanges(record as SeedFields, piece.fields, entry, entry.isFound ? {} : piece.defaults);
    const isChanged = Object.keys(patch).length > 0;
    const refused = isChanged ? await piece.update(record.id, patch, !entry.isFound).then(() => undefined, unlessTaken) : undefined;
    const part = refused ? undefined : piece.apart && (await changePart(piece.apart, entry, record).catch(unlessTaken));
    if (refused || part instanceof IdpError) {
      this.#log.taken.push(entry.id);
      return;
    }
    if (isChanged || part?.decision === 'set') this.#log.changed.push(entry.id);
    const leftFields = [...left, ...(part?.decision === 'leave' ? [piece.apart?.field] : [])];
    this.#log.left.push(...leftFields.map((field) => `${entry.id} ${field}`));
    const waiting = this.#waiting.get(entry.id) ?? [];
    const given = { ...notes, items: notes.items.filter((item) => !waiting.some(isItem(item))) };
    await this.#parts.ledger.write(entry.id, (row) => noted(noted(row, given), part?.notes));
  }
}

/** Notes about a record that is complete. */
async function settledNotes<R extends { readonly id: string }>({ fields, apart }: SeedPiece<R>, record: R): Promise<SeedNotes> {
  const { values, items } = seededNotes(record as SeedFields, fields);
  if (apart === undefined) return { values, items };
  const digest = (await apart.isEqual(record)) ? await apart.seedDigest(record) : undefined;
  return {
    values: [...values, { field: apart.field, digest: digest ?? NOT_OURS }],
    items: [...items, ...itemsOf(apart)],
  };
}

async function changePart<R>(part: SeedPart<R>, { values, items }: SeedRecord, record: R) {
  const given = values.find(({ field }) => field === part.field)?.digest;
  const decided = decide({ stored: await part.digest(record), given, isEqual: await part.isEqual(record) });
  const wasGiven = part.once !== undefined && items.some(isItem({ field: part.field, item: part.once }));
  if (decided === 'leave' || (decided === 'set' && wasGiven)) {
    const notes = given === undefined ? { values: [{ field: part.field, digest: NOT_OURS }], items: [] } : undefined;
    return { decision: wasGiven ? ('keep' as const) : ('leave' as const), notes };
  }
  const now = decided === 'set' ? (((await part.set(record)) as R | undefined) ?? record) : record;
  const digest = (await part.seedDigest(now)) ?? NOT_OURS;
  return { decision: decided, notes: { values: [{ field: part.field, digest }], items: itemsOf(part) } };
}

/** Entries of the ledger, by what the run did with their records. */
type RunLog = Readonly<Record<'made' | 'changed' | 'left' | 'gone' | 'unknown' | 'unreadable' | 'taken' | 'moved' | 'withheld', string[]>>;

function tell({ made, changed, left, gone, unknown, unreadable, taken, moved, withheld }: RunLog, logger: Logger): void {
  if (made.length + changed.length > 0) logger.info({ made: made.length, changed: changed.length }, 'seed applied');
  if (gone.length > 0) logger.info({ records: gone }, 'the seed did not create records that were removed before');
  if (left.length > 0) logger.info({ values: left }, 'the seed did not change values that somebody else had changed');
  if (unreadable.length > 0) logger.warn({ records: unreadable }, 'the seed did not change unreadable records');
  if (moved.length > 0)
    logger.warn({ records: moved }, 'records of the seed got other ids, because somebody else had created records with the derived ids');
  if (taken.length > 0)
    logger.warn(
      { records: taken },
      'The seed did not create or change records, because other records have the id, name or scope. Remove or rename the other records.',
    );
  if (withheld.length > 0)
    logger.warn(
      { values: withheld },
      'The seed gave no privileges to records that somebody else created, to clients with secrets or metadata of somebody else, or to groups with members of somebody else. The seed gave no members to groups that somebody else created. An administrator may give these privileges and members.',
    );
  if (unknown.length > 0) {
    logger.warn({ records: unknown }, 'the seed did not create records that may have been removed before the seed had a ledger');
  }
}

/** Returns the time of creation; undefined if the record has none. Rows of extensions store it as text or a number. */
function createdAtOf(record: object): Date | undefined {
  const { createdAt } = record as { readonly createdAt?: Stored['createdAt'] | string | number };
  const time = createdAt === undefined ? undefined : new Date(createdAt);
  return time && Number.isFinite(time.getTime()) ? time : undefined;
}

/** Members of an entry that identify its record. */
function identityOf(record: { readonly id: string }): Pick<SeedRecord, 'recordId' | 'recordCreatedAt'> {
  const recordCreatedAt = createdAtOf(record);
  return { recordId: record.id, ...(recordCreatedAt && { recordCreatedAt }) };
}

/** Returns whether the record is the record that was entered, and not another record that got the id after a removal. */
const isOfEntry = (record: object, { recordCreatedAt }: SeedRecord): boolean =>
  recordCreatedAt === undefined || createdAtOf(record)?.getTime() === recordCreatedAt.getTime();

const itemsOf = ({ field, once }: Pick<SeedPart<never>, 'field' | 'once'>): SeedNotes['items'] =>
  once === undefined ? [] : [{ field, item: once, isInSeed: true }];

/** Returns the entry with the notes added; the same entry, which writes nothing, if it has them all. */
function noted(entry: SeedRecord, notes: SeedNotes | undefined): SeedRecord {
  if (notes === undefined) return entry;
  const values = new Map([...entry.values, ...notes.values].map(({ field, digest }) => [field, digest]));
  const items = new Map([...entry.items, ...notes.items].map((one) => [JSON.stringify([one.field, one.item]), one]));
  const next = { ...entry, values: [...values].map(([field, digest]) => ({ field, digest })), items: [...items.values()] };
  return isDeepStrictEqual(next, { ...entry }) ? entry : next;
}

/** Returns the error of a creation that failed because another node has just created the record. */
function unlessTaken(error: unknown): IdpError {
  if (IdpError.is(error, 'conflict', 'tenant_name_taken', 'user_name_taken', 'person_has_user')) return error;
  throw error;
}
