/** Models of oidc-provider, one row each: how its records are stored, written, used and read together. */

/** Storage of a model's records. */
export interface Model {
  /** Character in the ids of the model that names the kind. Without a tag, oidc-provider makes the ids. */
  readonly tag?: string;
  /** Name of the form of a stored record. */
  readonly form?: 'session' | 'pushed request' | 'interaction';
  /** Whether the record ends with its grant. A revoked grant leaves nothing live. */
  readonly ofGrant?: true;
  /** Whether the record is listed and ended by account. */
  readonly ofAccount?: true;
  /** Records that are needed next, and are read in the same round trip. */
  readonly follow: readonly ('grant' | 'successor')[];
  /**
   * `new`: under an id that does not exist. `at once`: the same, before the request continues. `merged`: with concurrent writes of other requests. `if
   * unknown`: of two requests that write the same, one writes. Absent: replaces the record.
   */
  readonly write?: 'new' | 'at once' | 'merged' | 'if unknown';
  /** Rules of a record that can be used once. */
  readonly spent?: {
    /** Minimum time for which the use is remembered. Absent: until the end of the record. */
    readonly remembered?: 'spentCode' | 'spentRequest';
    /**
     * Effect of a second use:
     * - `ends`: the second use ends the grant.
     * - `retries`: the second use is a retry within the grace period.
     * - Absent: the second use is refused as used.
     */
    readonly again?: 'ends' | 'retries';
  };
}

const rows = {
  Session: { form: 'session', ofAccount: true, follow: [], write: 'merged' },
  Grant: { tag: 'g', ofAccount: true, follow: [], write: 'new' },
  Interaction: { form: 'interaction', follow: [] },
  PushedAuthorizationRequest: { tag: 'p', form: 'pushed request', follow: [], write: 'new', spent: { remembered: 'spentRequest' } },
  AuthorizationCode: { tag: 'k', ofGrant: true, follow: ['grant'], spent: { remembered: 'spentCode', again: 'ends' } },
  AccessToken: { tag: 'a', ofGrant: true, follow: ['grant'] },
  RefreshToken: { tag: 'r', ofGrant: true, follow: ['grant', 'successor'], write: 'if unknown', spent: { again: 'retries' } },
  ClientCredentials: { tag: 'c', follow: [], write: 'new' },
  ReplayDetection: { follow: [], write: 'at once' },
} as const satisfies Readonly<Record<string, Model>>;

/** Models without a row. */
const plain: Model = { follow: [], spent: {} };

/** Models whose ids the service makes. */
export type TaggedKind = { [Name in keyof typeof rows]: (typeof rows)[Name] extends { tag: string } ? Name : never }[keyof typeof rows];

export const modelOf = (name: string): Model => (rows as Readonly<Record<string, Model>>)[name] ?? plain;

export const tagOf = (kind: TaggedKind): string => rows[kind].tag;

export const taggedKinds = Object.entries(rows).flatMap(([name, row]) => ('tag' in row ? (name as TaggedKind) : []));
