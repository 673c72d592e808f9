/** Short-lived records of extensions, in the store of sessions and tokens. */
import { present } from '../../present.js';
import { nodeTime } from '../../times/node-time.js';
import { artifactKey, hashedKey } from '../artifact-key.js';
import type { Artifact, ArtifactKey, ArtifactStore } from '../artifact-store.js';
import type { Sealer } from '../sealer.js';

/** A kind of short-lived record. Ids are secrets: only their digests reach the store, and values are encrypted. */
export interface ArtifactKind {
  /** The extension's name, a dot, and a name of its own: `notes.links`. */
  readonly name: string;
  /** Seconds after which a record reads as absent, unless its `put` says less. */
  readonly lifetimeSeconds: number;
  /** Each record can be taken once; a record that was taken keeps its id until it would have ended. @default false */
  readonly once?: boolean;
  /** Each record is of an account, and ends when the sign-ins of the account are cut off. @default false */
  readonly account?: boolean;
  /** Each record is of a grant, and ends with it: by sign-out, revocation, a replayed token. @default false */
  readonly ofGrant?: boolean;
}

export interface PutArtifact {
  /** The user's id, for kinds with `account`. */
  readonly oid?: string;
  /** Of an access token, for kinds with `ofGrant`. */
  readonly grantId?: string;
  /** Less than the kind's. */
  readonly lifetimeSeconds?: number;
}

/** The records of a kind. */
export interface ExtensionArtifacts {
  /** False when there is one with this id, taken or not, or its grant is over: then nothing is written. @param value JSON. */
  put(id: string, value: unknown, options?: PutArtifact): Promise<boolean>;
  read(id: string): Promise<unknown>;
  /**
   * Compare-and-swap: `change` may run again when another write came between. Its argument is undefined where there is none; where it returns its
   * argument, or undefined, nothing is written. With `lifetimeSeconds` the record ends so long from now, else when it would have ended.
   * @returns what is kept then; undefined also for a record that was taken or removed, which stays so.
   */
  update(id: string, change: (value: unknown) => unknown, options?: PutArtifact): Promise<unknown>;
  /** Takes the value: one caller gets it, all others get undefined, also at the same time. @throws TypeError where the kind is not `once`. */
  take(id: string): Promise<unknown>;
  /** It reads as absent from now on, and its id can be used again once it would have ended. */
  remove(id: string): Promise<void>;
}

/** As it is stored. */
interface Envelope {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly sealed: string;
  readonly grant?: ArtifactKey;
}

const PREFIX = 'Extension.';
const PURPOSE = 'extension artifacts';

/** When a record of an extension was put; undefined for a record of the protocol. */
export const putAtOf = (artifact: Pick<Artifact, 'key' | 'value'>): Date | undefined =>
  artifact.key.startsWith(PREFIX) ? new Date(envelopeOf(artifact).at) : undefined;

export interface ExtensionArtifactsParts {
  readonly artifacts: ArtifactStore;
  /** The time that cut-offs are told by, in milliseconds since the epoch. */
  readonly now: () => number;
  readonly sealer: Sealer;
  /** Whether what an account did at a time counts for nothing by now. */
  readonly isCutOff: (oid: string, actedAt: Date) => Promise<boolean>;
}

/** The records of a kind, with what they are kept by. */
interface Scope extends ExtensionArtifactsParts {
  readonly kind: ArtifactKind;
}

export function createExtensionArtifacts(parts: ExtensionArtifactsParts, kind: ArtifactKind): ExtensionArtifacts {
  const scope: Scope = { ...parts, kind };
  return {
    put: (id, value, options) => put(scope, id, value, options),
    read: (id) => read(scope, id),
    update: (id, change, options) => update(scope, id, change, options),
    take: (id) => take(scope, id),
    remove: (id) => remove(scope, id),
  };
}

async function put(
  scope: Scope,
  id: string,
  value: unknown,
  { oid, grantId, lifetimeSeconds = scope.kind.lifetimeSeconds }: PutArtifact = {},
): Promise<boolean> {
  const { artifacts, kind, now } = scope;
  if ((oid !== undefined) !== (kind.account === true))
    throw new TypeError(`${kind.name}: an oid is for kinds with account, and for each of them`);
  const lifetimeMs = lifetimeMsOf(kind, lifetimeSeconds);
  if ((grantId !== undefined) !== (kind.ofGrant === true))
    throw new TypeError(`${kind.name}: a grant is for kinds with ofGrant, and for each of them`);
  const grant = grantId === undefined ? undefined : artifactKey('Grant', grantId);
  if (grantId !== undefined && !(grant && (await isKept(artifacts, grant)))) return false;
  const key = keyOf(kind, id);
  const envelope: Envelope = { at: now(), ...(grant && { grant }), sealed: sealed(scope, key, value) };
  const expiresAt = nodeTime() + lifetimeMs;
  const { ok } = await artifacts.commit([
    { op: 'put', if: 'absent', key, value: JSON.stringify(envelope), expiresAt, ...present({ account: oid }) },
  ]);
  return ok;
}

async function read(scope: Scope, id: string): Promise<unknown> {
  const artifact = await live(scope, keyOf(scope.kind, id));
  return artifact && opened(scope, artifact);
}

async function update(scope: Scope, id: string, change: (value: unknown) => unknown, options?: PutArtifact): Promise<unknown> {
  const { artifacts, kind } = scope;
  const key = keyOf(kind, id);
  for (;;) {
    const artifact = await live(scope, key);
    const before = artifact && opened(scope, artifact);
    const after = change(before);
    if (after === before || after === undefined) return before;
    if (!artifact) {
      if (await put(scope, id, after, options)) return after;
      // Taken, removed or cut off, which lasts; or another was faster.
      if (!(await live(scope, key))) return undefined;
      continue;
    }
    const { version, ...stored } = artifact;
    const value = JSON.stringify({ ...envelopeOf(artifact), sealed: sealed(scope, key, after) });
    const seconds = options?.lifetimeSeconds;
    const expiresAt = seconds === undefined ? stored.expiresAt : nodeTime() + lifetimeMsOf(kind, seconds);
    if ((await artifacts.commit([{ op: 'put', if: { version }, ...stored, expiresAt, value }])).ok) return after;
  }
}

async function take(scope: Scope, id: string): Promise<unknown> {
  const { artifacts, kind } = scope;
  if (!kind.once) throw new TypeError(`${kind.name} is not a kind that is taken once`);
  const artifact = await live(scope, keyOf(kind, id));
  if (!artifact) return undefined;
  const value = opened(scope, artifact);
  const { version, ...stored } = artifact;
  const { ok } = await artifacts.commit([{ op: 'put', if: { version }, ...stored, consumedAt: nodeTime() }]);
  return ok ? value : undefined;
}

async function remove({ artifacts, kind }: Scope, id: string): Promise<void> {
  const key = keyOf(kind, id);
  const artifact = (await artifacts.read([{ key }])).get(key);
  if (artifact) await artifacts.commit([{ op: 'remove', key, until: artifact.expiresAt }]);
}

/** The record, unless it was taken, its grant is over, or its account was cut off since. */
async function live({ artifacts, isCutOff }: Scope, key: ArtifactKey): Promise<Artifact | undefined> {
  const artifact = (await artifacts.read([{ key }])).get(key);
  if (!artifact || artifact.consumedAt !== undefined) return undefined;
  const { at, grant } = envelopeOf(artifact);
  if (grant !== undefined && !(await isKept(artifacts, grant))) return undefined;
  return artifact.account !== undefined && (await isCutOff(artifact.account, new Date(at))) ? undefined : artifact;
}

const isKept = async (artifacts: ArtifactStore, key: ArtifactKey): Promise<boolean> => (await artifacts.read([{ key }])).has(key);

function keyOf(kind: ArtifactKind, id: string): ArtifactKey {
  if (typeof id !== 'string' || id === '') throw new TypeError('an id is a text');
  return hashedKey(PREFIX + kind.name, id);
}

/** The milliseconds of a lifetime, which may be a fraction of a second. @throws RangeError for a lifetime longer than the kind's */
function lifetimeMsOf(kind: ArtifactKind, lifetimeSeconds: number): number {
  if (lifetimeSeconds > 0 && lifetimeSeconds <= kind.lifetimeSeconds) return Math.ceil(lifetimeSeconds * 1000);
  throw new RangeError(`${kind.name}: a lifetime within the kind's`);
}

const envelopeOf = ({ value }: Pick<Artifact, 'value'>): Envelope => JSON.parse(value) as Envelope;

const sealed = ({ sealer }: Scope, key: ArtifactKey, value: unknown): string => sealer.encrypt(PURPOSE, key, JSON.stringify(value));

const opened = ({ sealer }: Scope, artifact: Artifact): unknown =>
  JSON.parse(sealer.decrypt(PURPOSE, artifact.key, envelopeOf(artifact).sealed)) as unknown;
