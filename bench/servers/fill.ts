import { randomBytes } from 'node:crypto';
import { artifactKey } from '../../lib/store/artifact-key.js';
import type { ArtifactKey, ArtifactStore, Put } from '../../lib/store/artifact-store.js';
import { userScopes } from '../world.js';

/** Concurrent commits. */
const PARALLEL = 64;
const DAY = 86_400_000;

const randomId = (bytes: number): string => randomBytes(bytes).toString('base64url');

/** Returns the records of one code flow: a grant, and two tokens of it. */
function tokensOfOneFlow(): readonly Put[] {
  const slot = randomId(9).slice(0, 11);
  const account = randomId(16);
  const key = (kind: string): ArtifactKey => artifactKey(kind, slot + randomId(24)) as ArtifactKey;
  const grant = key('Grant');
  const seconds = Math.floor(Date.now() / 1000);
  const times = { iat: seconds, exp: seconds + DAY / 1000 };
  const token = { ...times, accountId: account, clientId: 'web-es256', grantId: slot + randomId(24), scope: userScopes, sessionUid: slot };
  const common = { op: 'put', expiresAt: Date.now() + DAY } as const;
  const value = JSON.stringify({ ...token, authTime: seconds, nonce: 'a-nonce-of-some-length', gty: 'authorization_code', claims: {} });
  return [
    {
      ...common,
      key: grant,
      account,
      value: JSON.stringify({ ...times, accountId: account, clientId: 'web-es256', openid: { scope: userScopes } }),
    },
    { ...common, key: key('AccessToken'), links: { grant }, value },
    { ...common, key: key('RefreshToken'), links: { grant }, value },
  ];
}

/** Stores tokens in the form and in the way of the adapter. */
export async function fill(store: ArtifactStore, tokens: number): Promise<void> {
  let left = tokens;
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      while (left > 0) {
        left -= 2;
        const result = await store.commit(tokensOfOneFlow());
        if (!result.ok) throw new Error(`${result.lost} was there already`);
      }
    }),
  );
}
