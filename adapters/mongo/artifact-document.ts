import type { AnyBulkWriteOperation, Document } from 'mongodb';
import { present } from '../../lib/present.js';
import type { Artifact, ArtifactKey, ArtifactWrite, Put, Remove } from '../../lib/store/artifact-store.js';

/** A document of the store. The names of the members are short, because every document has them. */
export interface State {
  /** Time until which the document is valid. */
  readonly e: Date;
  /** Whether the document is the tombstone of a removed record. A tombstone has no other fields. */
  readonly d?: true;
  /** Version. Only records have a version. */
  readonly n?: number;
  readonly v?: string;
  /** Time at which the record was used. */
  readonly c?: number;
  readonly a?: string;
  /** Links, as pairs, because any text may be the name of a link. */
  readonly l?: readonly (readonly [name: string, key: ArtifactKey])[];
}

/** An intent: a write that waits for the decision of its commit. */
export interface Intent {
  readonly t: string;
  /** Keys of all writes of the commit. */
  readonly k: readonly ArtifactKey[];
  /** The document after the write. */
  readonly s: State;
  /**
   * Time until which the document is valid without the intent. Absent if there was no document. Until the decision, the document is stored until the later
   * of both times.
   */
  readonly o?: Date;
}

export interface ArtifactDocument extends State {
  readonly _id: string;
  /** Id of the commit that wrote the document. */
  readonly t: string;
  /**
   * The state before a commit that put the same record again, so that the commit can be undone. `u` in this state is set if the previous commit also put
   * the record again. Only the last state is known. After that state was restored, `u` alone shows that the document is not the work of the previous
   * commit.
   */
  readonly u?: { readonly t?: string; readonly n?: number; readonly u: boolean };
  readonly p?: Intent;
}

const none = { $exists: false } as const;
const fieldsOf = ({ value, expiresAt, consumedAt, account, links }: Put): State => ({
  v: value,
  e: new Date(expiresAt),
  ...present({ c: consumedAt, a: account }),
  ...(links === undefined ? {} : { l: Object.entries(links) }),
});

const endOf = ({ e, p }: ArtifactDocument): number => (p?.o ?? e).getTime();

const isLive = (document: ArtifactDocument | undefined, now: number): document is ArtifactDocument =>
  document !== undefined && endOf(document) > now && (document.n !== undefined || document.d === true);

/** Returns the record of a document, unless the record expired or was removed. An undecided intent does not count. */
export function artifactOf(document: ArtifactDocument, now: number): Artifact | undefined {
  const { _id, v, n, c, a, l } = document;
  if (!isLive(document, now) || n === undefined || v === undefined) return undefined;
  return {
    key: _id as ArtifactKey,
    value: v,
    version: n,
    expiresAt: endOf(document),
    ...present({ consumedAt: c, account: a }),
    ...(l === undefined ? {} : { links: Object.fromEntries(l) }),
  };
}

/** Returns whether the condition of a write holds for the current document. */
export function holds(write: ArtifactWrite, document: ArtifactDocument | undefined, now: number): boolean {
  if (write.op === 'remove') return true;
  const current = isLive(document, now) ? document : undefined;
  if (current?.d) return false;
  if (write.if === undefined) return true;
  if (write.if === 'absent') return current === undefined;
  if (write.if === 'unconsumed') return current !== undefined && current.c === undefined;
  return current?.n === write.if.version;
}

/** Returns the document after a write whose condition holds. */
export function stateAfter(write: ArtifactWrite, document: ArtifactDocument | undefined, now: number): State {
  if (write.op === 'put') return { ...fieldsOf(write), n: isLive(document, now) ? (document.n ?? 0) + 1 : 1 };
  const tombstone = document?.d ? document.e.getTime() : 0;
  return { d: true, e: new Date(Math.max(write.until, tombstone)) };
}

/**
 * Returns a write as one statement. The statement writes if the condition of the write holds and no intent is in the way. In all other cases, the statement
 * matches nothing, or fails as a duplicate.
 */
export function statementOf(write: ArtifactWrite, t: string, now: Date): AnyBulkWriteOperation<ArtifactDocument> {
  if (write.op === 'remove') return removeStatement(write, t);
  const { key, if: condition } = write;
  const upsert = condition === undefined || condition === 'absent';
  const version = { n: { $cond: [{ $gt: ['$e', now] }, { $add: ['$n', 1] }, 1] } };
  const next = { $mergeObjects: [{ _id: '$_id' }, { $literal: { ...fieldsOf(write), t } }, version] };
  return { updateOne: { filter: { _id: key, p: none, ...filterOf(condition, now) }, update: [{ $replaceWith: next }], upsert } };
}

/**
 * Returns an unconditional put as a statement that can be undone. The statement puts a new record, or the same record again. In all other cases, the
 * statement fails as a duplicate.
 */
export function reversibleStatement(write: Put, t: string, now: Date): AnyBulkWriteOperation<ArtifactDocument> {
  const fields = fieldsOf(write);
  const same = { c: none, a: none, l: none, ...fields, n: { $exists: true } };
  const before = { t: '$t', n: '$n', u: { $ne: [{ $type: '$u' }, 'missing'] } };
  const again = { $mergeObjects: ['$$ROOT', { t: { $literal: t }, n: { $add: ['$n', 1] }, u: before }] };
  const next = { $mergeObjects: [{ _id: '$_id' }, { $literal: { ...fields, t, n: 1 } }] };
  const update = [{ $replaceWith: { $cond: [{ $gt: ['$e', now] }, again, next] } }];
  return { updateOne: { filter: { _id: write.key, p: none, $or: [{ e: { $lte: now } }, same] }, update, upsert: true } };
}

/**
 * Returns statements that undo the writes of a commit, unless another write came after the commit. Only the commit that created a document deletes the
 * document, because other commits that put it again may have succeeded.
 */
export function undoStatements(keys: readonly ArtifactKey[], t: string): AnyBulkWriteOperation<ArtifactDocument>[] {
  const own = { _id: { $in: [...keys] }, t, p: none };
  const restored = { $set: { t: '$u.t', n: '$u.n' } };
  const putAgain = { ...own, 'u.t': { $exists: true } };
  return [
    { deleteMany: { filter: { ...own, u: none } } },
    { updateMany: { filter: { ...putAgain, 'u.u': true }, update: [restored, { $unset: ['u.t', 'u.n'] }] } },
    { updateMany: { filter: { ...putAgain, 'u.u': false }, update: [restored, { $unset: 'u' }] } },
  ];
}

function filterOf(condition: Put['if'], now: Date): Document {
  if (condition === undefined) return { $or: [{ d: none }, { e: { $lte: now } }] };
  if (condition === 'absent') return { e: { $lte: now } };
  if (condition === 'unconsumed') return { e: { $gt: now }, n: { $exists: true }, c: none };
  return { e: { $gt: now }, n: condition.version };
}

function removeStatement({ key, until }: Remove, t: string): AnyBulkWriteOperation<ArtifactDocument> {
  const end = new Date(until);
  const e = { $cond: [{ $eq: ['$d', true] }, { $max: ['$e', end] }, end] };
  const tombstone = { _id: '$_id', d: { $literal: true }, t: { $literal: t }, e };
  return { updateOne: { filter: { _id: key, p: none }, update: [{ $replaceWith: tombstone }], upsert: true } };
}
