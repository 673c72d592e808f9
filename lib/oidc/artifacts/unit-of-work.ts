import { setTimeout as sleep } from 'node:timers/promises';
import { UnavailableError } from '../../errors.js';
import { slotOfKey } from '../../store/artifact-key.js';
import type { Artifact, ArtifactKey, ArtifactStore, ArtifactWrite, Put } from '../../store/artifact-store.js';
import { LostWrite } from './lost-writes.js';

/**
 * Returns the write to try after a concurrent request wrote the record, or undefined to give up.
 * @param fresh the current record; undefined if the record was removed.
 */
type Merge = (fresh: Artifact | undefined) => Put | undefined;

/** Records that a commit has just added to accounts. */
export interface Begun {
  /** Sign-ins: sessions with their grants, and grants without a session. */
  readonly signIns: readonly Put[];
  /** Grants in a session that its account had before. */
  readonly grants: readonly Put[];
}

/**
 * Checks records that a commit has just added to accounts. Ends a sign-in that was cut off before the commit, and a grant whose consent was withdrawn before
 * the commit.
 * @returns the store key of a record that was ended
 */
export type CheckBegun = (begun: Begun) => Promise<ArtifactKey | undefined>;

/** Retries of a merge before it counts as lost. */
const MERGE_ATTEMPTS = 16;

/**
 * Reads and writes of one request. Reads are cached. Writes are buffered, and committed together before the response is rendered. So a lost condition
 * becomes an ordinary protocol error, and the response contains nothing that was not stored.
 */
export class UnitOfWork {
  readonly #store: ArtifactStore;
  readonly #reads = new Map<ArtifactKey, Artifact | undefined>();
  readonly #writes = new Map<ArtifactKey, ArtifactWrite>();
  // Most requests need neither of these two members.
  #merges: Map<ArtifactKey, Merge> | undefined;
  #taken: Set<ArtifactKey> | undefined;
  #abandoned = false;
  readonly #checkBegun: CheckBegun | undefined;

  /** @param checkBegun absent for writes that add no record to an account, and for records that a host writes */
  constructor(store: ArtifactStore, checkBegun?: CheckBegun) {
    this.#store = store;
    this.#checkBegun = checkBegun;
  }

  /**
   * Returns the record as this request sees it, with the request's own buffered writes. Returns a promise only if the store has to be asked.
   * @param along store keys of other slots that are needed next, and are read in the same round trip.
   */
  read(
    key: ArtifactKey,
    follow: readonly string[] = [],
    along: readonly ArtifactKey[] = [],
  ): Artifact | undefined | Promise<Artifact | undefined> {
    const write = this.#writes.get(key);
    if (write) return write.op === 'put' ? { ...write, version: 0 } : undefined;
    return this.#reads.has(key) ? this.#reads.get(key) : this.#load(key, follow, along);
  }

  /** Whether there are writes to commit. */
  get hasWrites(): boolean {
    return this.#writes.size > 0 && !this.#abandoned;
  }

  /** Returns the record as it was read, without I/O. */
  peek(key: ArtifactKey): Artifact | undefined {
    return this.#reads.get(key);
  }

  put(write: Put, merge?: Merge): void {
    if (this.#writes.get(write.key)?.op === 'remove') return;
    this.#writes.set(write.key, write);
    if (!merge) return;
    this.#merges ??= new Map();
    this.#merges.set(write.key, merge);
  }

  /** Marks a record as used. If the commit fails because of an outage, the use is taken back, because the client never got the answer. */
  spend(write: Put): void {
    this.#taken ??= new Set();
    this.#taken.add(write.key);
    this.put(write);
  }

  remove(key: ArtifactKey, until: number): void {
    this.#writes.set(key, { op: 'remove', key, until });
    this.#merges?.delete(key);
  }

  /** Discards all reads, and writes that are not committed, so that a request whose write lost can be retried. */
  reset(): void {
    this.#reads.clear();
    this.#writes.clear();
    this.#merges = undefined;
  }

  /** Stops all writes. A request that failed because of an outage leaves nothing behind, so that it can be retried. */
  abandon(): void {
    this.#abandoned = true;
  }

  /**
   * Commits the buffered writes: one write for each slot, and one-time records of other slots first. If a one-time record is lost, nothing else is written.
   *
   * If the store becomes unavailable between two slots, a pushed request is used without a result, and its client has to push another request. In the other
   * order, many requests that use one record concurrently would each leave a grant and a code behind.
   * @throws LostWrite
   */
  commit(): Promise<void> {
    if (!this.hasWrites) return done;
    const slots = bySlot([...this.#writes.values()]);
    const merges = this.#merges;
    this.#writes.clear();
    this.#merges = undefined;
    const [only] = slots;
    return only && slots.length === 1 && !only.some(isOfAccount)
      ? this.#commitSlot(only, merges).then(nothing)
      : this.#commitSlots(slots, merges);
  }

  async #commitSlots(slots: readonly ArtifactWrite[][], merges: ReadonlyMap<ArtifactKey, Merge> | undefined): Promise<void> {
    const ofAccounts: Committed[] = [];
    for (const writes of slots) ofAccounts.push(...(await this.#commitSlot(writes, merges)));
    const begun = begunBy(ofAccounts);
    const ended = begun && (await this.#checkBegun?.(begun));
    if (ended) throw new LostWrite(ended);
  }

  #load(key: ArtifactKey, follow: readonly string[], along: readonly ArtifactKey[]): Promise<Artifact | undefined> {
    const wanted = along.length === 0 ? [{ key, follow }] : [{ key, follow }, ...along.map((other) => ({ key: other }))];
    return this.#store.read(wanted).then((found) => {
      for (const other of along) this.#reads.set(other, found.get(other));
      const artifact = found.get(key);
      this.#reads.set(key, artifact);
      for (const name of follow) {
        const linked = artifact?.links?.[name];
        if (linked) this.#reads.set(linked, found.get(linked));
      }
      return artifact;
    });
  }

  /** Takes back the uses of a commit that may have been made, and whose client got an error. */
  #takeBack(writes: readonly ArtifactWrite[]): void {
    for (const write of writes) {
      const before = this.#reads.get(write.key);
      if (before && write.op === 'put' && this.#taken?.has(write.key)) void takeBack(this.#store, write, before);
    }
  }

  /** @returns the writes of records that accounts have */
  async #commitSlot(writes: ArtifactWrite[], merges: ReadonlyMap<ArtifactKey, Merge> | undefined): Promise<readonly Committed[]> {
    let merged: ReadonlyMap<ArtifactKey, Artifact | undefined> | undefined;
    for (let attempt = 0; ; attempt += 1) {
      let result: Awaited<ReturnType<ArtifactStore['commit']>>;
      try {
        result = await this.#store.commit(writes);
      } catch (error) {
        if (error instanceof UnavailableError) this.#takeBack(writes);
        throw error;
      }
      if (result.ok) break;
      const { lost } = result;
      const merge = merges?.get(lost);
      if (!merge || attempt === MERGE_ATTEMPTS) throw new LostWrite(lost);
      const fresh = (await this.#store.read([{ key: lost }])).get(lost);
      const next = merge(fresh);
      if (!next) throw new LostWrite(lost);
      writes = writes.map((write) => (write.key === lost ? next : write));
      merged = new Map([...(merged ?? []), [lost, fresh]]);
    }
    const ofAccounts = writes.flatMap((write) =>
      isOfAccount(write) ? [{ write, before: merged?.has(write.key) ? merged.get(write.key) : this.#reads.get(write.key) }] : [],
    );
    for (const write of writes) this.#reads.set(write.key, write.op === 'put' ? { ...write, version: versionAfter(write) } : undefined);
    return ofAccounts;
  }
}

const done = Promise.resolve();
const nothing = () => undefined;

/** A write of a record that an account has, and the record that the write replaced. */
interface Committed {
  readonly write: Put;
  readonly before: Artifact | undefined;
}

const isOfAccount = (write: ArtifactWrite): write is Put => write.op === 'put' && write.account !== undefined;

/**
 * Returns the writes that added a record to an account. A cut-off, or the withdrawal of a consent, may have read the account's list before these writes.
 * A grant in a session that its account had before is not among the sign-ins, because a cut-off ends that session, and the request then fails.
 */
function begunBy(ofAccounts: readonly Committed[]): Begun | undefined {
  const isListed = ({ write, before }: Committed): boolean => before?.account === write.account;
  const added = ofAccounts.filter((each) => !isListed(each)).map(({ write }) => write);
  if (added.length === 0) return undefined;
  const continued = new Set(
    ofAccounts.flatMap((each) => (isListed(each) && typeof each.write.if === 'object' ? [each.write.account] : [])),
  );
  const isContinued = ({ account }: Put): boolean => continued.has(account);
  return { signIns: added.filter((write) => !isContinued(write)), grants: added.filter(isContinued) };
}

function bySlot(all: ArtifactWrite[]): ArtifactWrite[][] {
  if (all.length === 1) return [all];
  const slots = new Map<string, ArtifactWrite[]>();
  for (const write of all) {
    const slot = slotOfKey(write.key);
    const writes = slots.get(slot);
    if (writes) writes.push(write);
    else slots.set(slot, [write]);
  }
  return [...slots.values()].sort(oneTimeFirst);
}

const isOneTime = (write: ArtifactWrite): boolean => write.op === 'put' && write.if === 'unconsumed';
const oneTimeFirst = (a: ArtifactWrite[], b: ArtifactWrite[]): number => Number(b.some(isOneTime)) - Number(a.some(isOneTime));

const versionAfter = ({ if: condition }: Put): number => (typeof condition === 'object' ? condition.version + 1 : 1);

/** Milliseconds between checks. The last check comes after every client that was asked to retry has retried. */
const PAUSES_MS = [0, 100, 200, 400, 800, 1500, 3000, 4000] as const;
/** Maximum records at the same time, so that a store that returns from an outage is not overloaded. */
const MAX_AT_ONCE = 500;

let underWay = 0;

/**
 * Makes a one-time record usable again. The record was used by a commit that got no answer, and the client was asked to retry. The commit may have been
 * made, or may still be made, but the client never got its tokens.
 * @param spent the write, whose value no other write has.
 * @param before the record that the write replaced.
 */
async function takeBack(store: ArtifactStore, spent: Put, before: Artifact): Promise<void> {
  if (underWay >= MAX_AT_ONCE) return;
  underWay += 1;
  try {
    for (const pause of PAUSES_MS) {
      await sleep(pause, undefined, { ref: false });
      if (await isTakenBack(store, spent, before).catch(() => false)) return;
    }
  } finally {
    underWay -= 1;
  }
}

/** Returns whether nothing is left to do, because the use was taken back, or another request has used the record. */
async function isTakenBack(store: ArtifactStore, spent: Put, before: Artifact): Promise<boolean> {
  const now = (await store.read([{ key: spent.key }])).get(spent.key);
  if (!now) return true;
  if (now.consumedAt === undefined) return false;
  if (now.value !== spent.value) return true;
  const { version: _version, ...record } = before;
  return (await store.commit([{ ...record, op: 'put', if: { version: now.version } }])).ok;
}
