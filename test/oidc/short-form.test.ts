/** Issue 45: stored sessions and grants repeat no value, and are read back unchanged. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createId, createSessionUid } from '../../lib/oidc/artifacts/ids.js';
import { recordIn, textOf } from '../../lib/oidc/artifacts/short-form.js';
import { seededRandom } from '../support/stores/jittery-directory.js';

type Record = { readonly accountId?: string | undefined; readonly [member: string]: unknown };
/** Returns the record as it is read from the store. */
const stored = (model: string, record: Record): unknown => {
  const { accountId: account } = record;
  return recordIn(model, { value: textOf(model, record), ...(account === undefined ? {} : { account }) });
};
const defined = (record: unknown): unknown => JSON.parse(JSON.stringify(record));

const accountId = randomUUID();
const sid = 'NWD__Pe7dTxbFfDoLPwSJQnUvJ4wXIvBgYOTu4Bsda8';
const grantId = createId('Grant', createSessionUid());
const session: Record = {
  amr: ['pwd'],
  accountId,
  loginTs: 1795928328,
  authorizations: { spa: { sid, grantId, persistsLogout: true } },
  sub: accountId,
  idp: 'local',
  owner: accountId,
  signIn: 'X1hgUxJ3p3HE1xhuQX85yF',
  grants: [{ clientId: 'spa', grantId, accountId, sid, exp: 1795971528 }],
  secretHash: 'Li6S7uQnNYwXU-x1_VrQ8Yr43CBTOhCpc4f47RUetig',
};
const grant: Record = {
  iat: 1795928328,
  accountId,
  clientId: 'spa',
  openid: { scope: 'openid profile' },
  login: {
    sub: accountId,
    idp: 'local',
    amr: ['pwd'],
    authTime: 1795928328,
    session: '7SX19KLAY1BYlwwAITYUzrwf',
    sessionEndsAt: 1795971528,
  },
  sid,
};

describe('the short form', () => {
  test('of a session and of a grant names the account nowhere, and nothing twice', () => {
    const [ofSession, ofGrant] = [textOf('Session', session), textOf('Grant', grant)];
    for (const text of [ofSession, ofGrant]) {
      expect(text).not.toContain(accountId);
      for (const value of [sid, grantId]) expect(text.split(value).length).toBeLessThanOrEqual(2);
    }
    expect([ofSession.length, ofGrant.length].map((length, index) => length <= [300, 200][index]!)).toEqual([true, true]);
  });

  test.each([
    ['203.0.113.0/24', 40],
    ['2001:db8:abcd:1234:5678:9abc:def0:1234', 65],
  ])('issue 46: of a session grows little by its browser and the address %s', (address, bytes) => {
    const grown = { ...session, browser: 'fx', system: 'wi', address };
    expect(textOf('Session', grown).length - textOf('Session', session).length).toBeLessThanOrEqual(bytes);
    expect(stored('Session', grown)).toEqual(grown);
  });

  test.each([
    ['of a session', 'Session', session],
    ['of a session without a sign-in', 'Session', { secretHash: 'x' }],
    ['of a session that kept its grants when its sign-in ended', 'Session', { grants: session.grants, secretHash: 'x' }],
    ['of a linked account', 'Session', { ...session, sub: randomUUID(), owner: randomUUID() }],
    ['without a sub', 'Session', { ...session, sub: undefined, owner: undefined }],
    [
      'of grants of two accounts',
      'Session',
      { ...session, grants: [{ ...(session.grants as object[])[0], accountId: randomUUID(), sub: 'x' }] },
    ],
    ['of a client whose id is __proto__', 'Session', { ...session, authorizations: JSON.parse('{"__proto__":{"sid":"a","grantId":"b"}}') }],
    ['of an authorization without a grant', 'Session', { ...session, authorizations: { spa: { promptedScopes: ['openid'] } } }],
    ['of an authorization by another grant', 'Session', { ...session, authorizations: { spa: { sid, grantId: 'another' } } }],
    ['of an authorization with another sid', 'Session', { ...session, authorizations: { spa: { sid: 'another', grantId } } }],
    ['of a grant', 'Grant', grant],
    ['of a grant that a host made', 'Grant', { ...grant, login: undefined }],
    [
      'of a grant of an earlier sign-in',
      'Grant',
      { ...grant, login: { ...(grant.login as object), authTime: 1795920000, sub: 'parent', owner: 'parent' } },
    ],
    ['of a token', 'AccessToken', { accountId, clientId: 'spa', grantId, sub: accountId }],
  ])('%s comes back as it was', (_, model, record) => {
    const { accountId: ofToken } = record as Record;
    expect(defined(stored(model, record as Record))).toEqual(defined(record));
    expect(model !== 'AccessToken' || textOf(model, record).includes(ofToken as string)).toBe(true);
  });

  test('comes back as it was, and has the same text when it is written again, whatever members it has', () => {
    const random = seededRandom(45);
    const pick = <T>(...values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
    const ids = [accountId, randomUUID()];
    const clients = ['spa', 'web', 'A', '__proto__'];
    for (let round = 0; round < 2_000; round += 1) {
      const grants = Array.from({ length: Math.floor(random() * 4) }, () => ({
        clientId: pick(...clients),
        grantId: pick('one', 'two'),
        accountId: pick(...ids),
        sid: pick('1', '2'),
        sub: pick(undefined, ...ids),
        exp: 9,
      }));
      const authorization = () => ({
        sid: pick('1', '2', undefined),
        grantId: pick('one', 'two', undefined),
        persistsLogout: pick(true, undefined),
      });
      const account = pick(undefined, ...ids);
      const record: Record = {
        accountId: account,
        loginTs: pick(undefined, 1),
        amr: pick(undefined, ['pwd', 'otp']),
        ...(account === undefined ? {} : { sub: pick(undefined, ...ids), owner: pick(undefined, ...ids) }),
        grants: pick(undefined, grants),
        authorizations: pick(
          undefined,
          Object.fromEntries(clients.slice(0, Math.floor(random() * 5)).map((client) => [client, authorization()])),
        ),
        aside: pick(undefined, { uid: 'u', browser: 'b' }),
      };
      const back = stored('Session', record) as Record;
      expect(defined(back)).toEqual(defined(record));
      expect(textOf('Session', back)).toBe(textOf('Session', record));
    }
  });
});
