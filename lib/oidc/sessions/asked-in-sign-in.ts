/** Requests that a user makes in a sign-in, and that a later step completes. The end of the sign-in ends the requests. */
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { ExtensionSignIn } from '../../contract/context/sign-in.js';
import { keyOfMark, newMark } from '../../directory/index.js';
import { digestOfKey } from '../../store/artifact-key.js';
import { nodeTime } from '../../times/node-time.js';
import type { OurSession } from '../accounts/login-context.js';
import { keyOf } from '../artifacts/ids.js';
import type { AskedHere } from '../artifacts/session-members.js';
import type { OidcParts } from '../context.js';
import { askedIn, changeSession, removalsOfAsked } from './sessions.js';

/** Maximum requests of a sign-in that wait at the same time. A newer request ends the oldest. */
const MOST = 10;

/** {@link ExtensionSignIn.proofOf} */
export const createProofOf =
  ({ artifacts, directory }: Pick<OidcParts, 'artifacts' | 'directory'>, provider: () => Provider): ExtensionSignIn['proofOf'] =>
  async (ctx: Context, { account, session, oid, authTime }, { lifetimeSeconds, survivesSwitch }) => {
    const proof = await directory.credentials.proofOf(account, new Date(authTime * 1000));
    const { uid } = (await provider().Session.get(ctx)) as OurSession;
    const key = keyOf('Session', uid);
    const mark = newMark(uid);
    const keyOfNew = keyOfMark(mark);
    if (!key || !keyOfNew || digestOfKey(key) !== session) return { ...proof, askedIn: '' };
    const asked: AskedHere = { mark, ...(survivesSwitch && { survivesSwitch: true }) };
    const expiresAt = nodeTime() + lifetimeSeconds * 1000;
    // If the sign-in has ended since, nothing is written, and the proof counts nowhere.
    await changeSession(
      artifacts,
      key,
      (now) => (now.accountId === oid ? { ...now, asked: [...askedIn(now).slice(1 - MOST), asked] } : undefined),
      {
        adding: () => [{ op: 'put', if: 'absent', key: keyOfNew, value: '{}', expiresAt }],
        removing: (before) => removalsOfAsked(askedIn(before).slice(0, 1 - MOST)),
      },
    );
    return { ...proof, askedIn: mark };
  };
