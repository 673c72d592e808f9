/** Records of factors, and artifacts of their setup and proof. */
import {
  type ArtifactKind,
  defineCollection,
  type ExtensionRow,
  type ExtensionRows,
  type FoundRows,
  IdpError,
  oneOf,
  present,
  type Static,
  strict,
  Type,
} from '../../lib/extension-door.js';

const Factor = Type.Object(
  {
    /** User to whose credential the factor belongs. Linked users use the factors of their parent account. */
    userId: Type.String(),
    personId: Type.String(),
    /** A row has the member that its kind names, and no member of another kind. */
    kind: oneOf(['totp', 'passkey', 'recovery']),
    /** Unique name of the factor's place: one authenticator app and one set of recovery codes per user, one passkey per credential id. */
    slot: Type.String(),
    name: Type.Optional(Type.String()),
    createdAt: Type.String(),
    /** The user, if the factor is the first. The value is unique, so that one of two concurrent first factors fails. */
    first: Type.Optional(Type.String()),
    /** Sign-in that added the factor, named by `signInName`. */
    addedIn: Type.Optional(Type.String()),
    lastUsedAt: Type.Optional(Type.String()),
    /** Sealed secret, and the time step of the last accepted code. @see RFC 6238 §4.2 */
    totp: Type.Optional(Type.Object({ secret: Type.String(), lastStep: Type.Integer() })),
    /** Keyed hashes of the unused codes. */
    recovery: Type.Optional(Type.Object({ codes: Type.Array(Type.String()) })),
    passkey: Type.Optional(
      Type.Object({
        credentialId: Type.String(),
        publicKey: Type.String(),
        counter: Type.Integer(),
        transports: Type.Array(Type.String()),
      }),
    ),
  },
  strict,
);

export type Factor = Static<typeof Factor>;
export type FactorRow = ExtensionRow<Factor>;
export type FactorKind = Factor['kind'];

/** Name of passkeys as a sign-in method. */
export const PASSKEY = 'passkey';

/** Removes rows, also malformed rows. */
async function removeAll(rows: ExtensionRows<Factor>, { rows: found, unreadable }: FoundRows<Factor>): Promise<void> {
  for (const id of [...found.map((row) => row.id), ...unreadable]) await rows.remove(id).catch(IdpError.unless('not_found'));
}

const kinds = ['totp', 'passkey', 'recovery'] as const satisfies readonly FactorKind[];

export const factors = defineCollection({
  name: 'factors.enrolled',
  row: Factor,
  wrongMember(row) {
    const { kind, slot, userId, passkey, first = userId } = row;
    if (slot !== (kind === 'passkey' ? slotOf.passkey(passkey?.credentialId ?? '') : slotOf[kind](userId))) return 'slot';
    if (first !== userId) return 'first';
    return kinds.find((each) => (row[each] !== undefined) !== (each === kind));
  },
  indexes: {
    // Indexes of all tenants find a row with an unreadable tenant by its user, and a row with an unreadable user by its person.
    byUser: { fields: ['userId'], ofAllTenants: true },
    byPerson: { fields: ['personId'], ofAllTenants: true },
    bySlot: { fields: ['slot'], unique: true },
    byFirst: { fields: ['first'], unique: true },
  },
  events: true,
  async erase(rows, { personId }) {
    await removeAll(rows, await rows.findAll('byPerson', [personId]));
  },
  async userRemoved(rows, { userId }) {
    await removeAll(rows, await rows.findAll('byUser', [userId]));
  },
  async export(rows, { personId }) {
    return (await rows.find('byPerson', [personId])).map(describedFactor);
  },
});

/** Returns the public members of a factor. The public members prove nothing. */
export const describedFactor = ({ id, kind, name, createdAt, lastUsedAt, recovery }: FactorRow) => ({
  id,
  kind,
  ...present({ name }),
  createdAt,
  ...present({ lastUsedAt }),
  ...(recovery ? { codesLeft: recovery.codes.length } : {}),
});

export const passkeysOf = (rows: readonly FactorRow[]) => rows.flatMap(({ passkey }) => passkey ?? []);

/** Returns the name of a sign-in of a browser. Each sign-in of a session has its own name. */
export const signInName = (session: string, authTime: number): string => `${session} ${authTime}`;

export const slotOf = {
  totp: (userId: string): string => `totp ${userId}`,
  recovery: (userId: string): string => `recovery ${userId}`,
  passkey: (credentialId: string): string => `passkey ${credentialId}`,
};

/** Secrets of authenticator apps that are being set up, until a code proves that the app has the secret. */
export const pendingApps: ArtifactKind = { name: 'factors.pending', lifetimeSeconds: 1800 };
/** Sign-ins whose factor was just proven, with the codes or the count that are still to be shown. */
export const provenSignIns: ArtifactKind = { name: 'factors.proven', lifetimeSeconds: 600 };
/** Sign-ins of {@link provenSignIns} whose user has seen the codes or the count. */
export const seenSignIns: ArtifactKind = { name: 'factors.seen', lifetimeSeconds: 600 };
/** Challenges that were used. */
export const spentChallenges: ArtifactKind = { name: 'factors.spent', lifetimeSeconds: 900 };
/** Passkeys that sign in to several organisations, until the user chooses one. */
export const passkeyChoices: ArtifactKind = { name: 'factors.choosing', lifetimeSeconds: 600 };
