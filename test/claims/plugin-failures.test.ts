/** Design §3, "Claims": a plugin that hangs, throws or lies delays tokens by its time-out at most, and loses only its own claims. */
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { ClaimSet } from '../../lib/claims/contract.js';
import { defineClaims } from '../../lib/claims/contract.js';
import { createClaimResolver } from '../../lib/claims/resolver.js';
import { person } from '../support/service/records.js';
import { claimSubject } from '../support/sign-in/claim-subject.js';

const warn = jest.fn<(fields: { err: Error & { cause: Error }; [name: string]: unknown }, message: string) => void>();
const logger = { debug: jest.fn(), info: jest.fn(), warn, error: jest.fn() };
const hr = new Set(['hr']);
const subject = claimSubject({ person: person({ familyName: 'Hemlig' }) });
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
    Promise.resolve(resolverOf(hanging).resolve(subject, hr, 'userinfo')).then(done, done);
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
      await expect(resolverOf(set).resolve(subject, hr, 'userinfo')).rejects.toMatchObject({ code: 'claims_unavailable' });
      jest.useRealTimers();
      await new Promise((done) => setTimeout(done));
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off('unhandledRejection', unhandled);
    }
  });

  test('is logged once a minute at most, and says what failed, without personal data', async () => {
    const resolver = resolverOf(failing('omit', 'load'));
    for (let request = 0; request < 3; request++) await resolver.resolve(subject, hr, 'userinfo');
    expect(warn.mock.calls).toEqual([
      [
        { err: expect.any(Error), claimSet: 'failing', claims: ['first', 'second'] },
        'the service left out claims that could not be loaded',
      ],
    ]);
    const err = warn.mock.calls[0]?.[0].err;
    expect(String(err)).toBe('RangeError: … has no cost centre');
    expect(err?.stack).toContain('plugin-failures.test');
    expect(inspect(err)).not.toContain('Hemlig');
    jest.advanceTimersByTime(60_000);
    await resolver.resolve(subject, hr, 'userinfo');
    expect(warn).toHaveBeenCalledTimes(2);
  });

  test('that is another one is told at once, also where claims fail the request', async () => {
    let problem = 'first kind';
    const set = defineClaims({
      name: 'failing',
      load: () => {
        throw new Error(problem, { cause: new TypeError('{"email": "hemlig@example.com"} is unexpected') });
      },
      claims: { first: { ...declared, value: () => 'first' } },
      onError: 'fail',
    });
    const resolver = resolverOf(set);
    const fails = () => expect(resolver.resolve(subject, hr, 'userinfo')).rejects.toMatchObject({ code: 'claims_unavailable' });
    for (const next of ['first kind', 'second kind', 'first kind', 'second kind']) {
      problem = next;
      await fails();
    }
    expect(warn.mock.calls.map(([{ err }, message]) => [err.message, message])).toEqual([
      ['first kind', 'the service refused a request, because claims could not be loaded'],
      ['second kind', 'the service refused a request, because claims could not be loaded'],
    ]);
    expect(warn.mock.calls[0]?.[0].err.cause.message).toBe('{"…": "…"} is unexpected');
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
      { err: expect.objectContaining({ message: `the value of 'wrong' is not of type '${type}'` }), claimSet: 'wrong', claims: ['wrong'] },
      'the service left out claims that could not be loaded',
    );
  });
});
