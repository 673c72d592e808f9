/** Short-lived records of extensions, in the store of sessions and tokens. */
import { present } from '../../present.js';
import { nodeTime } from '../../times/node-time.js';
import { artifactKey, hashedKey } from '../artifact-key.js';
import type { Artifact, ArtifactKey, ArtifactStore } from '../artifact-store.js';
import type { Sealer } from '../sealer.js';

/** A kind of short-lived record. Ids are secrets, so only their digests reach the store. Values are encrypted by default. */
export interface ArtifactKind {
  /** The extension's name, a dot, and a name that the extension chooses: `notes.links`. */
  readonly name: string;
  /** Seconds after which a record reads as absent, unless its `put` has a shorter lifetime. */
  readonly lifetimeSeconds: number;
  /**
   * Whether each record can be taken once. The id of a record that was taken stays in use until the record would have expired. @default
   * false
   */
  readonly once?: boolean;
  /** Whether each record belongs to an account, and ends when the sign-ins of the account are cut off. @default false */
  readonly account?: boolean;
  /** Whether each record belongs to a grant, and ends with the grant: by sign-out, revocation or a replayed token. @default false */
  readonly ofGrant?: boolean;
  /** Whether values are stored without encryption, which is faster. Only for values of ids, counts and times, which are no credentials. @default false */
  readonly unsealed?: boolean;
}

export interface PutArtifact {
  /** The user's id, for kinds with `account`. */
  readonly oid?: string;
  /** A client, for kinds with `account`: the record also ends when the access of this client to the account ends. `update` sets the client too. */
  readonly clientId?: string;
  /** The grant of an access token, for kinds with `ofGrant`. */
  readonly grantId?: string;
  /** Seconds, at most as many as the kind has. @default the lifetime of the kind */
  readonly lifetimeSeconds?: number;
}

/** The records of a kind. */
export interface ExtensionArtifacts {
  /**
   * Creates a record. Returns false, and writes nothing, when there is a record with this id, used or not, or when the grant has ended.
   * @param value JSON.
   */
  put(id: string, value: unknown, options?: PutArtifact): Promise<boolean>;
  read(id: string): Promise<unknown>;
  /**
   * Updates the value by compare-and-swap: `change` may run again when another write came between. The argument of `change` is undefined when
   * there is no record. If `change` returns its argument or undefined, nothing is written. With `lifetimeSeconds`, the record expires after so
   * many seconds from now; otherwise the expiry does not change.
   * @returns the value after the call; undefined also for a record that was taken or removed, because no update revives it.
   */
  update(id: string, change: (value: unknown) => unknown, options?: PutArtifact): Promise<unknown>;
  /**
   * Takes the value. One caller gets the value, and all other callers get undefined, even concurrent callers.
   * @throws TypeError where the kind is not `once`.
   */
  take(id: string): Promise<unknown>;
  /** Removes the record. The id of the record can be used again once the record would have expired. */
  remove(id: string): Promise<void>;
}

/** The stored form of a record. */
interface Envelope {
  /** Instant of the put, in milliseconds since the epoch. */
  readonly at: number;
  /** The value, encrypted. Absent for kinds with `unsealed`. */
  readonly sealed?: string;
  /** The value of a kind with `unsealed`. */
  readonly value?: unknown;
  readonly grant?: ArtifactKey;
  /** Id of the client whose access the record represents. */
  readonly client?: string;
  /** Time at which an update made the record represent the access of the client, in milliseconds since the epoch. @default `at` */
  readonly clientAt?: number;
}

const PREFIX = 'Extension.';
const PURPOSE = 'extension artifacts';

/** Returns the time at which a record of an extension was put; undefined for a record of the protocol. */
export const putAtOf = (artifact: Pick<Artifact, 'key' | 'value'>): Date | undefined =>
  artifact.key.startsWith(PREFIX) ? new Date(envelopeOf(artifact).at) : undefined;

/** The access of a client that a record of an extension represents. */
interface ClientAccess {
  readonly clientId: string;
  /** Start of the access, in milliseconds since the epoch. */
  readonly since: number;
}

/** Returns the access that a record of an extension represents; undefined for a record without a client. */
export function clientAccessOf(artifact: Pick<Artifact, 'key' | 'value'>): ClientAccess | undefined {
  if (!artifact.key.startsWith(PREFIX)) return undefined;
  const { client: clientId, at, clientAt: since = at } = envelopeOf(artifact);
  return clientId === undefined ? undefined : { clientId, since };
}

export interface ExtensionArtifactsParts {
  readonly artifacts: ArtifactStore;
  /** Returns the time with which cut-offs are compared, in milliseconds since the epoch. */
  readonly now: () => number;
  readonly sealer: Sealer;
  /** Returns whether the sign-ins of an account at that time have been cut off since. */
  readonly isCutOff: (oid: string, actedAt: Date) => Promise<boolean>;
}

/** The records of a kind, with the parts that store them. */
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
  { oid, clientId, grantId, lifetimeSeconds = scope.kind.lifetimeSeconds }: PutArtifact = {},
): Promise<boolean> {
  const { artifacts, kind, now } = scope;
  if ((oid !== undefined) !== (kind.account === true))
    throw new TypeError(
      `An artifact of ${kind.name} ${oid === undefined ? 'has no oid' : 'has an oid'}. Give an oid if the kind has account: true, and none otherwise.`,
    );
  if (clientId !== undefined && !kind.account)
    throw new TypeError(`An artifact of ${kind.name} has a clientId, but no account. Give a clientId only if the kind has account: true.`);
  const lifetimeMs = lifetimeMsOf(kind, lifetimeSeconds);
  if ((grantId !== undefined) !== (kind.ofGrant === true))
    throw new TypeError(
      `An artifact of ${kind.name} ${grantId === undefined ? 'has no grantId' : 'has a grantId'}. Give a grantId if the kind has ofGrant: true, and none otherwise.`,
    );
  const grant = grantId === undefined ? undefined : artifactKey('Grant', grantId);
  if (grantId !== undefined && !(grant && (await isKept(artifacts, grant)))) return false;
  const key = keyOf(kind, id);
  const envelope: Envelope = { at: now(), ...(grant && { grant }), ...present({ client: clientId }), ...stored(scope, key, value) };
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
  const { artifacts, kind, now } = scope;
  const key = keyOf(kind, id);
  for (;;) {
    const artifact = await live(scope, key);
    const before = artifact && opened(scope, artifact);
    const after = change(before);
    if (after === before || after === undefined) return before;
    if (!artifact) {
      if (await put(scope, id, after, options)) return after;
      // The record was taken, removed or cut off, which is final; or another call was faster.
      if (!(await live(scope, key))) return undefined;
      continue;
    }
    const { version, ...rest } = artifact;
    const client = options?.clientId;
    const access = client === undefined ? {} : { client, clientAt: now() };
    const value = JSON.stringify({ ...envelopeOf(artifact), ...access, ...stored(scope, key, after) });
    const seconds = options?.lifetimeSeconds;
    const expiresAt = seconds === undefined ? rest.expiresAt : nodeTime() + lifetimeMsOf(kind, seconds);
    if ((await artifacts.commit([{ op: 'put', if: { version }, ...rest, expiresAt, value }])).ok) return after;
  }
}

async function take(scope: Scope, id: string): Promise<unknown> {
  const { artifacts, kind } = scope;
  if (!kind.once)
    throw new TypeError(
      `Artifacts of ${kind.name} cannot be taken, because the kind does not have once: true. Declare once, or read the artifact.`,
    );
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

/** Returns the record, unless it was taken, its grant has ended, or the sign-ins of its account were cut off since. */
async function live({ artifacts, isCutOff }: Scope, key: ArtifactKey): Promise<Artifact | undefined> {
  const artifact = (await artifacts.read([{ key }])).get(key);
  if (!artifact || artifact.consumedAt !== undefined) return undefined;
  const { at, grant } = envelopeOf(artifact);
  if (grant !== undefined && !(await isKept(artifacts, grant))) return undefined;
  return artifact.account !== undefined && (await isCutOff(artifact.account, new Date(at))) ? undefined : artifact;
}

const isKept = async (artifacts: ArtifactStore, key: ArtifactKey): Promise<boolean> => (await artifacts.read([{ key }])).has(key);

function keyOf(kind: ArtifactKind, id: string): ArtifactKey {
  if (typeof id !== 'string' || id === '')
    throw new TypeError(`The id of an artifact of ${kind.name} is empty, or not a string. Give a text as id.`);
  return hashedKey(PREFIX + kind.name, id);
}

/** Returns the milliseconds of a lifetime, which may be a fraction of a second. @throws RangeError for a lifetime longer than the kind's */
function lifetimeMsOf(kind: ArtifactKind, lifetimeSeconds: number): number {
  if (lifetimeSeconds > 0 && lifetimeSeconds <= kind.lifetimeSeconds) return Math.ceil(lifetimeSeconds * 1000);
  throw new RangeError(
    `A lifetime of ${lifetimeSeconds} seconds is not possible for ${kind.name}. Give more than 0, and at most ${kind.lifetimeSeconds}.`,
  );
}

const envelopeOf = ({ value }: Pick<Artifact, 'value'>): Envelope => JSON.parse(value) as Envelope;

/** Returns the members of the envelope that have the value. */
const stored = ({ kind, sealer }: Scope, key: ArtifactKey, value: unknown): Pick<Envelope, 'sealed' | 'value'> =>
  kind.unsealed ? { value } : { sealed: sealer.encrypt(PURPOSE, key, JSON.stringify(value)) };

function opened({ kind, sealer }: Scope, artifact: Artifact): unknown {
  const { sealed = '', value } = envelopeOf(artifact);
  return kind.unsealed ? value : (JSON.parse(sealer.decrypt(PURPOSE, artifact.key, sealed)) as unknown);
}
