/** oidc-provider's models, one row each: what of a record is kept, how it is written and spent, and what it brings along. */

/** How records of a model are kept. */
export interface Model {
  /** The character in its ids that tells the kind; without one, ids are oidc-provider's own. */
  readonly tag?: string;
  /** The form of a record at rest, by name. */
  readonly form?: 'session' | 'pushed request' | 'interaction';
  /** Worthless without its grant: a revoked grant leaves nothing live. */
  readonly ofGrant?: true;
  /** Listed and ended by account. */
  readonly ofAccount?: true;
  /** Records that are wanted next: they come along in the same round trip. */
  readonly follow: readonly ('grant' | 'successor')[];
  /**
   * `new`: under an id that nobody else has. `at once`: the same, before the request goes on. `merged`: with what other requests wrote meanwhile.
   * `if unknown`: of two that write the same, one does. Absent: over what is there.
   */
  readonly write?: 'new' | 'at once' | 'merged' | 'if unknown';
  /** Of a record that is used once. */
  readonly spent?: {
    /** The lifetime that it is remembered for at least; absent: until its own end. */
    readonly remembered?: 'spentCode' | 'spentRequest';
    /** What comes again: ends what it bought, or is a retry within the grace. Absent: is told to be spent. */
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

/** Models that no row says anything of. */
const plain: Model = { follow: [], spent: {} };

/** Models whose ids are ours. */
export type TaggedKind = { [Name in keyof typeof rows]: (typeof rows)[Name] extends { tag: string } ? Name : never }[keyof typeof rows];

export const modelOf = (name: string): Model => (rows as Readonly<Record<string, Model>>)[name] ?? plain;

export const tagOf = (kind: TaggedKind): string => rows[kind].tag;

export const taggedKinds = Object.entries(rows).flatMap(([name, row]) => ('tag' in row ? (name as TaggedKind) : []));
