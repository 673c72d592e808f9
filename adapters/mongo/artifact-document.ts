import type { AnyBulkWriteOperation, Document } from 'mongodb';
import { present } from '../../lib/present.js';
import type { Artifact, ArtifactKey, ArtifactWrite, Put, Remove } from '../../lib/store/artifact-store.js';

/** A document of the store. Its names are short, because every document carries them. */
export interface State {
  /** Until when it holds. */
  readonly e: Date;
  /** Removed: a tombstone, which has no other fields. */
  readonly d?: true;
  /** Version; only a record has one. */
  readonly n?: number;
  readonly v?: string;
  /** When it was spent. */
  readonly c?: number;
  readonly a?: string;
  /** Links, as pairs: any text may be the name of one. */
  readonly l?: readonly (readonly [name: string, key: ArtifactKey])[];
}

/** A write that waits for the decision of its commit. */
export interface Intent {
  readonly t: string;
  /** The keys of all its writes. */
  readonly k: readonly ArtifactKey[];
  /** The document after it. */
  readonly s: State;
  /** Until when the document holds without it; meanwhile it is kept as long as either. Absent where there was none. */
  readonly o?: Date;
}

export interface ArtifactDocument extends State {
  readonly _id: string;
  /** The commit that wrote it. */
  readonly t: string;
  /**
   * What it was before that commit, which put the same again; `u` when that one had put it again as well. Only the last one is known: after
   * that was undone, `u` alone says that the document is not the work of the commit before it.
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

/** The record of a document, unless it expired or was removed. An intent has not happened. */
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

/** Whether a write may happen over the document that is there. */
export function holds(write: ArtifactWrite, document: ArtifactDocument | undefined, now: number): boolean {
  if (write.op === 'remove') return true;
  const current = isLive(document, now) ? document : undefined;
  if (current?.d) return false;
  if (write.if === undefined) return true;
  if (write.if === 'absent') return current === undefined;
  if (write.if === 'unconsumed') return current !== undefined && current.c === undefined;
  return current?.n === write.if.version;
}

/** The document after a write that may happen. */
export function stateAfter(write: ArtifactWrite, document: ArtifactDocument | undefined, now: number): State {
  if (write.op === 'put') return { ...fieldsOf(write), n: isLive(document, now) ? (document.n ?? 0) + 1 : 1 };
  const tombstone = document?.d ? document.e.getTime() : 0;
  return { d: true, e: new Date(Math.max(write.until, tombstone)) };
}

/** A write as one statement, which does it where its condition holds and no intent is in its way, and matches nothing or a duplicate elsewhere. */
export function statementOf(write: ArtifactWrite, t: string, now: Date): AnyBulkWriteOperation<ArtifactDocument> {
  if (write.op === 'remove') return removeStatement(write, t);
  const { key, if: condition } = write;
  const upsert = condition === undefined || condition === 'absent';
  const version = { n: { $cond: [{ $gt: ['$e', now] }, { $add: ['$n', 1] }, 1] } };
  const next = { $mergeObjects: [{ _id: '$_id' }, { $literal: { ...fieldsOf(write), t } }, version] };
  return { updateOne: { filter: { _id: key, p: none, ...filterOf(condition, now) }, update: [{ $replaceWith: next }], upsert } };
}

/** An unconditional put as a statement that can be undone: it puts a new record, or the same again, and is a duplicate elsewhere. */
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
 * Undoes the writes of a commit that used statements which can be undone, unless another write came after. Only the commit that made a document
 * deletes it, because other commits that put it again may have succeeded.
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
