/** Design §3, "Claims": what a plugin can do, and what it cannot do to others. */
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { standardClaims } from '../../extensions/claims/index.js';
import { createClaimResolver } from '../../lib/claim-resolver.js';
import type { ClaimSet } from '../../lib/claims.js';
import { claimTargets, defineClaims } from '../../lib/claims.js';
import { claimSubject } from '../support/claim-subject.js';
import { client, person } from '../support/records.js';

const warn = jest.fn();
const logger = { debug: jest.fn(), info: jest.fn(), warn, error: jest.fn() };
const hr = new Set(['hr']);
const subject = claimSubject({ person: person({ externalId: 'e-1', familyName: 'Hemlig' }) });
const declared = { scope: 'hr', type: 'string', description: 'Of the HR system' } as const;
const resolverOf = (...sets: ClaimSet[]) => createClaimResolver(sets, { logger });
const never = () => new Promise<never>(() => undefined);

beforeEach(() => {
  jest.useFakeTimers();
  warn.mockClear();
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
    const resolver = createClaimResolver(standardClaims, { logger });
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

describe('a plugin that hangs', () => {
  const other = defineClaims({ name: 'other', claims: { other: { ...declared, value: () => 'there' } } });

  test('costs its time-out and nothing else: its claims are left out and its signal is aborted', async () => {
    const signals: AbortSignal[] = [];
    const hanging = defineClaims({
      name: 'hanging',
      load: ({ signal }) => {
        signals.push(signal);
        return never();
      },
      claims: { never: { ...declared, value: () => 'never' } },
      timeoutMs: 800,
    });
    const resolved = resolverOf(hanging, other).resolve(subject, hr, 'userinfo');
    await jest.advanceTimersByTimeAsync(799);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await jest.advanceTimersByTimeAsync(1);
    expect(await resolved).toEqual({ other: 'there' });
    expect(signals[0]?.reason).toMatchObject({ name: 'TimeoutError' });
  });

  test('has one second unless it says otherwise', async () => {
    const done = jest.fn();
    const hanging = defineClaims({ name: 'hanging', load: never, claims: { x: { ...declared, value: () => 'x' } } });
    resolverOf(hanging).resolve(subject, hr, 'userinfo').then(done, done);
    await jest.advanceTimersByTimeAsync(999);
    expect(done).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(1);
    expect(done).toHaveBeenCalledWith({});
  });

  test('costs it once per request, however many outputs ask', async () => {
    const load = jest.fn(never);
    const hanging = defineClaims({ name: 'hanging', load, claims: { x: { ...declared, value: () => 'x' } } });
    const request = resolverOf(hanging).forRequest(subject);
    const first = request.resolve(hr, 'id_token');
    await jest.advanceTimersByTimeAsync(1000);
    expect(await first).toEqual({});
    expect(await request.resolve(hr, 'userinfo')).toEqual({});
    expect(load).toHaveBeenCalledTimes(1);
  });

  test('in a value loses that claim alone', async () => {
    const hanging = defineClaims({
      name: 'hanging',
      claims: { never: { ...declared, value: never }, there: { ...declared, value: () => 'there' } },
    });
    const resolved = resolverOf(hanging).resolve(subject, hr, 'userinfo');
    await jest.advanceTimersByTimeAsync(1000);
    expect(await resolved).toEqual({ there: 'there' });
  });

  test('and rejects after its time-out troubles nobody', async () => {
    const late = defineClaims({
      name: 'late',
      load: () => new Promise<string>((_, reject) => setTimeout(() => reject(new Error('late')), 5000)),
      claims: { x: { ...declared, value: () => 'x' } },
    });
    const resolved = resolverOf(late).resolve(subject, hr, 'userinfo');
    await jest.advanceTimersByTimeAsync(6000);
    expect(await resolved).toEqual({});
  });
});

describe('an error', () => {
  const boom = () => {
    throw new RangeError('Hemlig has no cost centre');
  };
  const failing = (onError: 'omit' | 'fail', member: 'load' | 'value') =>
    defineClaims({
      name: 'failing',
      load: () => (member === 'load' ? boom() : 'data'),
      claims: {
        first: { ...declared, value: () => (member === 'value' ? boom() : 'first') },
        second: { ...declared, value: ({ data }) => data },
      },
      onError,
    });

  test("in load leaves out the set's claims (omit)", async () => {
    expect(await resolverOf(failing('omit', 'load')).resolve(subject, hr, 'userinfo')).toEqual({});
  });

  test('in a value leaves out that claim (omit)', async () => {
    expect(await resolverOf(failing('omit', 'value')).resolve(subject, hr, 'userinfo')).toEqual({ second: 'data' });
  });

  test.each([
    ['load', ['first', 'second']],
    ['value', ['first']],
  ] as const)('in %s answers 503 (fail)', async (member, claims) => {
    await expect(resolverOf(failing('fail', member)).resolve(subject, hr, 'userinfo')).rejects.toMatchObject({
      code: 'claims_unavailable',
      status: 503,
      details: { claims },
      cause: { name: 'RangeError' },
    });
    expect(jest.getTimerCount()).toBe(0);
  });

  test('by time-out answers 503 (fail)', async () => {
    const set = defineClaims({
      name: 'hanging',
      load: never,
      claims: { x: { ...declared, value: () => 'x' } },
      timeoutMs: 10,
      onError: 'fail',
    });
    const resolved = expect(resolverOf(set).resolve(subject, hr, 'userinfo')).rejects.toMatchObject({
      code: 'claims_unavailable',
      cause: { name: 'TimeoutError' },
    });
    await jest.advanceTimersByTimeAsync(10);
    await resolved;
  });

  test('beside another one is not left unhandled (fail)', async () => {
    const unhandled = jest.fn();
    process.on('unhandledRejection', unhandled);
    try {
      const set = defineClaims({
        name: 'failing',
        claims: { later: { ...declared, value: async () => boom() }, now: { ...declared, value: boom } },
        onError: 'fail',
      });
      await expect(resolverOf(set).resolve(subject, hr, 'userinfo')).rejects.toThrow('Claims could not be computed');
      jest.useRealTimers();
      await new Promise((done) => setTimeout(done));
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off('unhandledRejection', unhandled);
    }
  });

  test('is logged once a minute at most, without personal data', async () => {
    const resolver = resolverOf(failing('omit', 'load'));
    for (let request = 0; request < 3; request++) await resolver.resolve(subject, hr, 'userinfo');
    expect(warn.mock.calls).toEqual([["Claims of 'failing' are left out (first, second): RangeError"]]);
    jest.advanceTimersByTime(60_000);
    await resolver.resolve(subject, hr, 'userinfo');
    expect(warn).toHaveBeenCalledTimes(2);
  });
});

describe('a value of the wrong type at run time', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  test.each([
    ['string', 1],
    ['string', null],
    ['number', '1'],
    ['number', Number.NaN],
    ['boolean', 'true'],
    ['strings', 'one'],
    ['strings', ['one', 2]],
    ['object', ['one']],
    ['object', new Date(0)],
    ['object', { big: 1n }],
    ['object', cyclic],
    ['objects', { one: 1 }],
    ['objects', [{ one: 1 }, null]],
    ['string or strings', { one: 1 }],
  ] as const)('is an error of that claim: %s', async (type, value) => {
    const set = {
      name: 'wrong',
      claims: {
        wrong: { ...declared, type, value: () => value as never },
        right: { ...declared, value: () => 'right' },
      },
    };
    expect(await resolverOf(set).resolve(subject, hr, 'userinfo')).toEqual({ right: 'right' });
    expect(warn).toHaveBeenCalledWith(
      `Claims of 'wrong' are left out (wrong): the value of 'wrong' is not of type '${type}'`,
    );
  });
});

describe('at start', () => {
  const set = (name: string, ...claims: string[]): ClaimSet => ({
    name,
    claims: Object.fromEntries(claims.map((claim) => [claim, { ...declared, value: () => 'text' }])),
  });
  const problemsOf = (sets: readonly ClaimSet[], mapping = {}) => {
    try {
      createClaimResolver(sets, { logger, mapping });
    } catch (error) {
      return error;
    }
    return undefined;
  };

  test('two sets that declare one name are refused with both names', () => {
    expect(problemsOf([set('hr', 'team'), set('crm', 'team')])).toMatchObject({
      name: 'ConfigError',
      code: 'extension_conflict',
      problems: [{ path: 'claims.crm.team', expected: expect.stringContaining("'hr'") }],
    });
    expect(problemsOf([...standardClaims, set('hr', 'role')])).toMatchObject({
      problems: [{ path: 'claims.hr.role', expected: expect.stringContaining("'roles'") }],
    });
  });

  test.each(['sub', 'oid', 'tid', 'act', 'amr', 'idp', 'iss', 'aud', 'sid'])(
    'the reserved name %s is refused',
    (claim) => {
      expect(problemsOf([set('hr', claim)])).toMatchObject({
        code: 'extension_conflict',
        problems: [{ path: `claims.hr.${claim}`, expected: expect.stringContaining('reserved') }],
      });
    },
  );

  test('everything wrong is listed at once', () => {
    const wrong = {
      name: 'hr',
      load: 'later',
      scopes: ['two words'],
      timeoutMs: 0,
      onError: 'ignore',
      claims: {
        a: { scope: 'h r', type: 'date', description: '', in: ['access_token'], value: 'text' },
        b: { ...declared, in: [], value: () => 'text' },
        c: null,
        sub: { ...declared, value: () => 'text' },
      },
    } as unknown as ClaimSet;
    const error = problemsOf([wrong, { name: '' } as ClaimSet], { rol: 'hr', b: 'two words' });
    expect(error).toMatchObject({ code: 'invalid_options' });
    const { problems } = error as { problems: { path: string }[] };
    expect(problems.map(({ path }) => path)).toEqual([
      'claims.hr.load',
      'claims.hr.timeoutMs',
      'claims.hr.onError',
      'claims.hr.scopes',
      'claims.hr.c',
      'claims.hr.a.scope',
      'claims.hr.a.type',
      'claims.hr.a.description',
      'claims.hr.a.in',
      'claims.hr.a.value',
      'claims.hr.b.in',
      'claims..name',
      'claims..claims',
      'mapping.rol',
      'mapping.b',
      'claims.hr.sub',
    ]);
  });

  test('a mapping of an unknown claim says which one may be meant', () => {
    expect(problemsOf(standardClaims, { perms: 'org' })).toMatchObject({
      code: 'invalid_options',
      problems: [{ path: 'mapping.perms', received: '"perms"', didYouMean: 'perm' }],
    });
  });
});

describe("an instance's mapping", () => {
  const everything = claimSubject();

  test('moves a claim to another scope', async () => {
    const resolver = createClaimResolver(standardClaims, {
      logger,
      mapping: { company_name: 'profile', role: 'staff' },
    });
    expect(resolver.scopes.get('staff')).toEqual(['role']);
    expect(resolver.scopes.get('profile')).toContain('company_name');
    expect(await resolver.resolve(everything, new Set(['profile']), 'userinfo')).toHaveProperty('company_name', 'Acme');
    expect(await resolver.resolve(everything, new Set(['org']), 'userinfo')).not.toHaveProperty('company_name');
  });

  test('removes a claim; its scope stays known', async () => {
    const resolver = createClaimResolver(standardClaims, { logger, mapping: { perm: false } });
    expect(resolver.declarations.map(({ name }) => name)).not.toContain('perm');
    expect(resolver.scopes.get('perms')).toEqual([]);
    expect(await resolver.resolve(everything, new Set(['perms']), 'userinfo')).toEqual({});
  });

  test('a removed claim makes room for a claim of the same name', async () => {
    const own = defineClaims({
      name: 'avatars',
      claims: { picture: { ...declared, value: () => 'https://a.test/1' } },
    });
    const resolver = createClaimResolver([...standardClaims, own], { logger, mapping: { picture: false } });
    expect(await resolver.resolve(everything, hr, 'userinfo')).toEqual({ picture: 'https://a.test/1' });
    expect(await resolver.resolve(everything, new Set(['profile']), 'userinfo')).not.toHaveProperty('picture');
  });

  test('an added claim is declared with its scope, type, description and targets', () => {
    const own = defineClaims({
      name: 'hr',
      claims: {
        desk: { ...declared, in: ['userinfo'], value: () => '1' },
        team: { ...declared, value: () => '2' },
      },
    });
    const resolver = createClaimResolver([...standardClaims, own], { logger });
    expect(resolver.declarations.slice(-2)).toEqual([
      { name: 'desk', ...declared, targets: ['userinfo'] },
      { name: 'team', ...declared, targets: claimTargets },
    ]);
    expect(resolver.scopes.get('hr')).toEqual(['desk', 'team']);
  });
});
