import { present } from '../../present.js';
import type { Artifact, Put } from '../../store/artifact-store.js';
import { recordIn, textOf } from './short-form.js';

/** A grant of this session, with the members that logout and the switch of accounts need. */
export interface SessionGrant {
  readonly clientId: string;
  readonly grantId: string;
  readonly accountId: string;
  readonly sid: string;
  /** `sub` of the grant, if it is not {@link accountId}. */
  readonly sub?: string;
  /** Seconds since the epoch. */
  readonly exp: number;
}

export interface SessionPayload {
  accountId?: string;
  loginTs?: number;
  authorizations?: Record<string, { grantId?: string; sid?: string }>;
  grants?: SessionGrant[];
  [member: string]: unknown;
}

/**
 * Merges the writes of two concurrent requests of one session: keeps what each request added. Returns undefined if the session has ended, or has another
 * sign-in that this request does not know. A late write never restores what a logout removed.
 */
export function mergeSessions(
  base: Pick<Artifact, 'value' | 'account'> | undefined,
  ours: Put,
  theirs: Artifact | undefined,
): Put | undefined {
  if (!theirs) return undefined;
  const [before, mine, now] = [base ?? { value: '{}' }, ours, theirs].map((artifact) => recordIn('Session', artifact)) as [
    SessionPayload,
    SessionPayload,
    SessionPayload,
  ];
  const signedIn = (a: SessionPayload, b: SessionPayload) => a.accountId !== b.accountId || a.loginTs !== b.loginTs;
  if (signedIn(before, now) && !signedIn(before, mine)) return undefined;

  const merged: SessionPayload = { ...now };
  for (const [member, value] of Object.entries(mine)) {
    if (JSON.stringify(value) !== JSON.stringify(before[member])) merged[member] = value;
  }
  if (mine.authorizations || now.authorizations) {
    merged.authorizations = { ...now.authorizations };
    for (const [clientId, authorization] of Object.entries(mine.authorizations ?? {})) {
      if (JSON.stringify(authorization) !== JSON.stringify(before.authorizations?.[clientId]))
        merged.authorizations[clientId] = authorization;
    }
  }
  // A grant that the other request removed has ended, and stays removed.
  const known = new Set(before.grants?.map(({ grantId }) => grantId));
  const added = mine.grants?.filter(({ grantId }) => !known.has(grantId)) ?? [];
  const grants = new Map([...(now.grants ?? []), ...added].map((grant) => [grant.grantId, grant]));
  if (mine.grants || now.grants) merged.grants = [...grants.values()];
  const { account: _, ...write } = ours;
  return {
    ...write,
    value: textOf('Session', merged),
    ...present({ account: merged.accountId }),
    expiresAt: Math.max(ours.expiresAt, theirs.expiresAt),
    links: { ...theirs.links, ...ours.links },
    if: { version: theirs.version },
  };
}
