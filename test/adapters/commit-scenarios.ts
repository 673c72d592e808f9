/** Commits of requests, in the forms that differ in how they can fail. */
import { hashedKey } from '../../lib/store/artifact-key.js';
import type { ArtifactKey, ArtifactWrite, Put } from '../../lib/store/artifact-store.js';

/** A commit that several nodes try concurrently, or one after the other died. */
export interface Scenario {
  /** Keys of the records that exist at first. */
  readonly old: readonly ArtifactKey[];
  /** Record that exists at first too, and is put again unchanged. The commit loses if the record is removed in the meantime. */
  readonly held?: Put;
  /** Returns the keys of the new records of an attempt. Until the commit, nobody else knows the keys that no other attempt has. */
  news(attempt: number): readonly ArtifactKey[];
  commit(attempt: number): readonly ArtifactWrite[];
  /** Whether all attempts succeed, one after the other. */
  readonly repeats?: true;
}

/** @param run keeps the records of the run apart from other runs */
type Make = (run: number) => Scenario;

const keyOf = (...name: readonly (string | number)[]): ArtifactKey => hashedKey('Commit', name.join(' '));
const later = () => Date.now() + 60_000;

export const put = (key: ArtifactKey, more: Partial<Put> = {}): Put => ({ op: 'put', key, value: 'new', expiresAt: later(), ...more });
export const remove = (key: ArtifactKey): ArtifactWrite => ({ op: 'remove', key, until: later() });
const spend = (key: ArtifactKey, more: Partial<Put> = {}): Put => put(key, { if: 'unconsumed', consumedAt: Date.now(), ...more });

const redemption: Make = (run) => {
  const code = keyOf('code', run);
  const tokens = (attempt: number) => [keyOf('access token', run, attempt), keyOf('refresh token', run, attempt)];
  return { old: [code], news: tokens, commit: (attempt) => [...tokens(attempt).map((key) => put(key)), spend(code)] };
};

export const rotation: Make = (run) => {
  const [token, successor] = [keyOf('token', run), keyOf('successor', run)];
  const access = (attempt: number) => keyOf('access token', run, attempt);
  const held = put(keyOf('grant', run), { account: 'account', links: { token } });
  return {
    old: [token],
    held,
    news: (attempt) => [access(attempt), successor],
    commit: (attempt) => [held, spend(token, { links: { successor } }), put(access(attempt)), put(successor)],
  };
};

export const signOut: Make = (run) => {
  const [session, grants] = [keyOf('session', run), [keyOf('grant', run, 1), keyOf('grant', run, 2)]];
  return { old: [session, ...grants], news: () => [], commit: () => [put(session, { if: { version: 1 } }), ...grants.map(remove)] };
};

export const twoConditions: Make = (run) => {
  const [session, code] = [keyOf('session', run), keyOf('code', run)];
  const grant = (attempt: number) => keyOf('grant', run, attempt);
  return {
    old: [session, code],
    news: (attempt) => [grant(attempt)],
    commit: (attempt) => [put(grant(attempt), { if: 'absent' }), put(session, { if: { version: 1 } }), spend(code)],
  };
};

export const replacement: Make = (run) => {
  const [one, other, more] = [keyOf('one', run), keyOf('other', run), keyOf('more', run)];
  return { old: [one, other], news: () => [more], commit: () => [put(one), put(more), put(other)], repeats: true };
};

export const scenarios: readonly { readonly name: string; readonly make: Make }[] = [
  { name: 'a code is redeemed', make: redemption },
  { name: 'a refresh token is rotated, its successor the same for all', make: rotation },
  { name: 'a session is signed out and its grants are ended', make: signOut },
  { name: 'a session is swapped and a code is spent', make: twoConditions },
  { name: 'two records are replaced and one is made', make: replacement },
];
