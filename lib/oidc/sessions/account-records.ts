/** Stored sessions and grants of an account, and records of extensions of the account. */
import { isOfKind } from '../../store/artifact-key.js';
import type { Artifact } from '../../store/artifact-store.js';
import { putAtOf } from '../../store/records/extension-artifacts.js';
import type { GrantRecord } from '../accounts/login-context.js';
import type { SessionExtras } from '../artifacts/session-members.js';
import type { SessionGrant, SessionPayload } from '../artifacts/session-merge.js';
import { isDamaged, readStored } from '../artifacts/stored-records.js';
import type { OidcParts } from '../context.js';

export interface Found extends Artifact {
  readonly session: SessionPayload & SessionExtras;
}

export interface FoundGrant extends Artifact {
  readonly grant: GrantRecord;
}

/** The sessions, grants and records of extensions of an account. */
interface Records {
  readonly sessions: readonly Found[];
  readonly grants: readonly FoundGrant[];
  readonly others: readonly Artifact[];
  /** Damaged sessions and grants, which give no access. */
  readonly damaged: readonly Artifact[];
}

export async function recordsOf({ artifacts }: Pick<OidcParts, 'artifacts'>, oid: string): Promise<Records> {
  const all = await artifacts.listByAccount(oid);
  const of = <T>(kind: string) =>
    all.flatMap((artifact) => {
      const record = isOfKind(artifact.key, kind) ? readStored<T>(kind, artifact) : undefined;
      return record ? [{ artifact, record }] : [];
    });
  return {
    sessions: of<Found['session']>('Session').map(({ artifact, record }) => ({ ...artifact, session: record })),
    grants: of<GrantRecord>('Grant').map(({ artifact, record }) => ({ ...artifact, grant: record })),
    others: all.filter((artifact) => putAtOf(artifact) !== undefined),
    damaged: all.filter(isDamaged),
  };
}

/** Returns a grant in the form in which a session remembers it. */
export const rememberedAs = ({ clientId, accountId, sid, login }: GrantRecord, expiresAt: number): SessionGrant[] =>
  sid === undefined || !login ? [] : [{ clientId, grantId: '', accountId, sid, sub: login.sub, exp: expiresAt / 1000 }];

/** Records of an account that are ended at the same time. */
const AT_ONCE = 16;

/** Ends a group of records at the same time, then the next group. An account may have thousands of records, and would overload the store otherwise. */
export async function inGroups<T>(all: readonly T[], end: (each: T) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < all.length; start += AT_ONCE) await Promise.all(all.slice(start, start + AT_ONCE).map(end));
}
