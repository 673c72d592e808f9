/** Data of plugins: the input from which claims are computed, and the time at which the data is loaded. Design §3, "Claims". */
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { standardClaims } from '../../extensions/claims/index.js';
import type { ClaimSet } from '../../lib/claims/contract.js';
import { defineClaims } from '../../lib/claims/contract.js';
import { createClaimResolver } from '../../lib/claims/resolver.js';
import { client, group, person, user } from '../support/service/records.js';
import { claimSubject } from '../support/sign-in/claim-subject.js';

const logger = { debug: jest.fn(), info: jest.fn(), warn: jest.fn(), error: jest.fn() };
const hr = new Set(['hr']);
const subject = claimSubject({ person: person({ externalId: 'e-1' }) });
const declared = { scope: 'hr', type: 'string', description: 'Of the HR system' } as const;
const resolverOf = (...sets: ClaimSet[]) => createClaimResolver(sets, { logger });

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

describe('values', () => {
  test('are computed from the data that load returns, for the targets and scopes that are declared', async () => {
    const resolver = resolverOf(
      defineClaims({
        name: 'hr',
        load: async ({ person }) => ({ costCenter: `of ${person.externalId}`, managerId: 'm-1' }),
        claims: {
          cost_center: { ...declared, value: ({ data }) => data.costCenter },
          manager: { ...declared, in: ['userinfo'], value: async ({ data }) => data.managerId },
          nothing: { ...declared, value: () => undefined },
        },
      }),
    );
    expect(await resolver.resolve(subject, hr, 'userinfo')).toEqual({ cost_center: 'of e-1', manager: 'm-1' });
    expect(await resolver.resolve(subject, hr, 'id_token')).toEqual({ cost_center: 'of e-1' });
    expect(await resolver.resolve(subject, new Set(['openid']), 'userinfo')).toEqual({});
  });

  test('see client and login of the request, and neither in a call by an API resource', async () => {
    const resolver = resolverOf(
      defineClaims({
        name: 'who',
        claims: { who: { ...declared, value: ({ client, login }) => `${client?.id} ${login?.idp}` } },
      }),
    );
    const login = { sub: subject.user.id, idp: 'local', amr: ['pwd'], authTime: 1 };
    const byClient = { ...subject, client: client({ id: 'web' }), login };
    expect(await resolver.resolve(byClient, hr, 'userinfo')).toEqual({ who: 'web local' });
    expect(await resolver.resolve(subject, hr, 'scope_introspection')).toEqual({ who: 'undefined undefined' });
  });

  test('make neither timer nor signal when nothing is awaited', async () => {
    const timer = jest.spyOn(globalThis, 'setTimeout');
    const controller = jest.spyOn(globalThis, 'AbortController');
    const resolver = createClaimResolver(standardClaims({ initialsAsPicture: false, email: 'all' }), { logger });
    await resolver.resolve(subject, new Set(resolver.scopes.keys()), 'userinfo');
    expect(timer).not.toHaveBeenCalled();
    expect(controller).not.toHaveBeenCalled();
    controller.mockRestore();
  });

  test('leave no timer behind', async () => {
    const resolver = resolverOf(
      defineClaims({ name: 'hr', load: async () => 'x', claims: { x: { ...declared, value: ({ data }) => data } } }),
      defineClaims({
        name: 'throws',
        load: () => Promise.reject(new Error()),
        claims: { y: { ...declared, value: () => 'y' } },
      }),
      defineClaims({
        name: 'asks for the signal',
        claims: { z: { ...declared, value: ({ signal }) => String(signal.aborted) } },
      }),
    );
    expect(await resolver.resolve(subject, hr, 'userinfo')).toEqual({ x: 'x', z: 'false' });
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('needs', () => {
  const groups = jest.fn(async () => [group({ name: 'Sales' })]);
  const member = claimSubject({ person: person({ user: user({ groupIds: ['1'] }) }) });
  const found = { ...member, lookups: { ...member.lookups, groups } };
  const names = (name: string) =>
    defineClaims({
      name,
      needs: ['groups'],
      claims: { [name]: { ...declared, type: 'strings', value: (context) => context.groups.map((each) => each.name) } },
    });
  beforeEach(() => {
    groups.mockClear();
  });

  test('are looked up once per request, whichever sets need them', async () => {
    const request = resolverOf(names('one'), names('two')).forRequest(found);
    expect(await request.resolve(hr, 'userinfo')).toEqual({ one: ['Sales'], two: ['Sales'] });
    expect(await request.resolve(hr, 'id_token')).toEqual({ one: ['Sales'], two: ['Sales'] });
    expect(groups).toHaveBeenCalledTimes(1);
  });

  test('are not looked up when no claim is wanted, or there is nothing to find', async () => {
    expect(await resolverOf(names('one')).resolve(found, new Set(['openid']), 'userinfo')).toEqual({});
    const alone = { ...subject, lookups: { ...subject.lookups, groups } };
    expect(await resolverOf(names('one')).resolve(alone, hr, 'userinfo')).toEqual({ one: [] });
    expect(groups).not.toHaveBeenCalled();
  });

  test('that are not declared are not there', async () => {
    const value = (context: object) => String('groups' in context);
    expect(await resolverOf(defineClaims({ name: 'hr', claims: { seen: { ...declared, value } } })).resolve(found, hr, 'userinfo')).toEqual(
      {
        seen: 'false',
      },
    );
  });
});

describe('load', () => {
  const load = jest.fn(async () => 'loaded');
  const resolver = resolverOf(
    defineClaims({
      name: 'hr',
      load,
      claims: {
        a: { ...declared, value: ({ data }) => data },
        b: { ...declared, value: ({ data }) => data },
        c: { ...declared, in: ['saml'], value: ({ data }) => data },
      },
    }),
  );
  beforeEach(() => {
    load.mockClear();
  });

  test('runs once per request, shared by all its claims and outputs', async () => {
    const request = resolver.forRequest(subject);
    const [idToken, userinfo] = await Promise.all([request.resolve(hr, 'id_token'), request.resolve(hr, 'userinfo')]);
    expect(idToken).toEqual({ a: 'loaded', b: 'loaded' });
    expect(userinfo).toEqual(idToken);
    expect(await request.resolve(hr, 'saml')).toEqual({ a: 'loaded', b: 'loaded', c: 'loaded' });
    expect(load).toHaveBeenCalledTimes(1);
  });

  test('runs again in the next request', async () => {
    await resolver.resolve(subject, hr, 'userinfo');
    await resolver.resolve(subject, hr, 'userinfo');
    expect(load).toHaveBeenCalledTimes(2);
  });

  test('does not run when none of its claims is wanted', async () => {
    const onlySaml = resolverOf(
      defineClaims({ name: 'hr', load, claims: { a: { ...declared, in: ['saml'], value: ({ data }) => data } } }),
    );
    expect(await onlySaml.resolve(subject, hr, 'userinfo')).toEqual({});
    expect(await onlySaml.resolve(subject, new Set(['openid']), 'saml')).toEqual({});
    expect(load).not.toHaveBeenCalled();
  });

  test('of all sets runs at the same time', async () => {
    const order: string[] = [];
    const slow = (name: string) =>
      defineClaims({
        name,
        load: async () => {
          order.push(`${name} begins`);
          await Promise.resolve();
          order.push(`${name} ends`);
        },
        claims: { [name]: { ...declared, value: () => name } },
      });
    await resolverOf(slow('one'), slow('two')).resolve(subject, hr, 'userinfo');
    expect(order).toEqual(['one begins', 'two begins', 'one ends', 'two ends']);
  });
});
