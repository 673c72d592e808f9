import { describe, expect, test } from '@jest/globals';
import { mergeSessions, type SessionGrant, type SessionPayload } from '../../lib/oidc/artifacts/session-merge.js';
import { recordIn, textOf } from '../../lib/oidc/artifacts/short-form.js';
import { present } from '../../lib/present.js';
import type { Artifact, ArtifactKey, Put } from '../../lib/store/artifact-store.js';

const key = 'Session{a}b' as ArtifactKey;
const stored = (payload: SessionPayload, version = 1, more: Partial<Artifact> = {}): Artifact => ({
  key,
  value: textOf('Session', payload),
  ...present({ account: payload.accountId }),
  version,
  expiresAt: 1000,
  ...more,
});
const put = (payload: SessionPayload, more: Partial<Put> = {}): Put => ({
  op: 'put',
  key,
  value: textOf('Session', payload),
  ...present({ account: payload.accountId }),
  expiresAt: 1000,
  ...more,
});
const grant = (grantId: string, clientId = 'web'): SessionGrant => ({
  clientId,
  grantId,
  accountId: 'alice',
  sid: `sid ${grantId}`,
  exp: 9,
});
const signedIn = { accountId: 'alice', loginTs: 1 };

const merged = (base: SessionPayload | undefined, ours: SessionPayload, theirs: SessionPayload | undefined): SessionPayload | undefined => {
  const result = mergeSessions(base && stored(base), put(ours), theirs && stored(theirs, 7));
  return result && (recordIn('Session', result) as SessionPayload);
};

describe('F3: two requests of one session write at once', () => {
  test('what either added stays', () => {
    const ours = { ...signedIn, authorizations: { web: { grantId: 'w', sid: '1' } }, grants: [grant('w')] };
    const theirs = { ...signedIn, authorizations: { spa: { grantId: 's', sid: '2' } }, grants: [grant('s', 'spa')] };
    expect(merged(signedIn, ours, theirs)).toEqual({
      ...signedIn,
      authorizations: { spa: { grantId: 's', sid: '2' }, web: { grantId: 'w', sid: '1' } },
      grants: [grant('s', 'spa'), grant('w')],
    });
  });

  test('a member that only they changed is theirs; one that we changed is ours', () => {
    const base = { ...signedIn, acr: 'old', state: { secret: 'old' } };
    expect(merged(base, { ...base, acr: 'ours' }, { ...base, state: { secret: 'theirs' } })).toEqual({
      ...signedIn,
      acr: 'ours',
      state: { secret: 'theirs' },
    });
  });

  test('an authorization that we did not touch is theirs', () => {
    const base = { ...signedIn, authorizations: { web: { grantId: 'old' } } };
    const theirs = { ...signedIn, authorizations: { web: { grantId: 'new' } } };
    expect(merged(base, base, theirs)?.authorizations).toEqual({ web: { grantId: 'new' } });
  });

  test('two grants of one client both stay on the list of what a logout ends', () => {
    const ours = { ...signedIn, authorizations: { web: { grantId: 'one' } }, grants: [grant('one')] };
    const theirs = { ...signedIn, authorizations: { web: { grantId: 'two' } }, grants: [grant('two')] };
    expect(merged(signedIn, ours, theirs)?.grants).toEqual([grant('two'), grant('one')]);
  });

  test('a grant that the other request removed stays removed', () => {
    const base = { ...signedIn, authorizations: { web: { grantId: 'w' }, spa: { grantId: 's' } }, grants: [grant('w'), grant('s', 'spa')] };
    const ours = {
      ...base,
      grants: [...base.grants, grant('j', 'jwt')],
      authorizations: { ...base.authorizations, jwt: { grantId: 'j' } },
    };
    const theirs = { ...signedIn, authorizations: { spa: { grantId: 's' } }, grants: [grant('s', 'spa')] };
    expect(merged(base, ours, theirs)).toEqual({
      ...signedIn,
      authorizations: { spa: { grantId: 's' }, jwt: { grantId: 'j' } },
      grants: [grant('s', 'spa'), grant('j', 'jwt')],
    });
  });

  test('the put replaces exactly what was merged with, lives as long as either, and keeps links', () => {
    const result = mergeSessions(
      stored(signedIn),
      put(signedIn, { expiresAt: 5, links: { 'grant:web': 'Grant{a}w' as ArtifactKey } }),
      stored(signedIn, 7, { expiresAt: 9, links: { 'grant:spa': 'Grant{a}s' as ArtifactKey } }),
    );
    expect(result).toMatchObject({ if: { version: 7 }, expiresAt: 9, links: { 'grant:web': 'Grant{a}w', 'grant:spa': 'Grant{a}s' } });
  });
});

describe('F2: a session that is over is not written again', () => {
  test('it was ended', () => expect(merged(signedIn, { ...signedIn, acr: 'x' }, undefined)).toBeUndefined());
  test('it is another’s now', () => expect(merged(signedIn, { ...signedIn, acr: 'x' }, { accountId: 'bob', loginTs: 1 })).toBeUndefined());
  test('it is nobody’s now', () => expect(merged(signedIn, { ...signedIn, acr: 'x' }, {})).toBeUndefined());
  test('it is a newer sign-in of the same account', () =>
    expect(merged(signedIn, { ...signedIn, acr: 'x' }, { accountId: 'alice', loginTs: 2 })).toBeUndefined());
  test('two sign-ins at once: the later write is the sign-in', () =>
    expect(merged({}, { accountId: 'bob', loginTs: 3 }, signedIn)).toMatchObject({ accountId: 'bob', loginTs: 3 }));
});
