/** Declarations of claims: the plugins that may declare a claim, and the mapping of an instance. Design §3, "Claims". */
import { describe, expect, jest, test } from '@jest/globals';
import { standardClaims } from '../../extensions/claims/index.js';
import type { ClaimSet } from '../../lib/claims/contract.js';
import { claimTargets, defineClaims } from '../../lib/claims/contract.js';
import { createClaimResolver } from '../../lib/claims/resolver.js';
import { claimSubject } from '../support/sign-in/claim-subject.js';

const logger = { debug: jest.fn(), info: jest.fn(), warn: jest.fn(), error: jest.fn() };
const hr = new Set(['hr']);
const declared = { scope: 'hr', type: 'string', description: 'Of the HR system' } as const;

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
    expect(problemsOf([...standardClaims({ initialsAsPicture: false, email: 'all' }), set('hr', 'role')])).toMatchObject({
      problems: [{ path: 'claims.hr.role', expected: expect.stringContaining("'roles'") }],
    });
  });

  test.each(['sub', 'oid', 'tid', 'act', 'amr', 'idp', 'iss', 'aud', 'sid'])('the reserved name %s is refused', (claim) => {
    expect(problemsOf([set('hr', claim)])).toMatchObject({
      code: 'extension_conflict',
      problems: [{ path: `claims.hr.${claim}`, expected: expect.stringContaining('reserved') }],
    });
  });

  test('everything wrong is listed at once', () => {
    const wrong = {
      name: 'hr',
      load: 'later',
      scopes: ['two words'],
      needs: ['friends'],
      timeoutMs: 0,
      onError: 'ignore',
      claims: {
        a: { scope: 'h r', type: 'date', description: '', in: ['logout_token'], value: 'text' },
        b: { ...declared, in: [], value: () => 'text' },
        d: { ...declared, in: ['access_token'], value: () => 'text' },
        e: { ...declared, in: ['access_token'], apiResources: [], value: () => 'text' },
        f: { ...declared, apiResources: ['orders'], value: () => 'text' },
        c: null,
        sub: { ...declared, value: () => 'text' },
      },
    } as unknown as ClaimSet;
    const error = problemsOf([wrong, { name: '' } as ClaimSet], { rol: 'hr', b: 'two words' });
    expect(error).toMatchObject({ code: 'invalid_options' });
    const { problems } = error as { problems: { path: string }[] };
    expect(problems.map(({ path }) => path)).toEqual([
      'claims.hr.needs[0]',
      'claims.hr.load',
      'claims.hr.timeoutMs',
      'claims.hr.onError',
      'claims.hr.scopes',
      'claims.hr.c',
      'claims.hr.a.scope',
      'claims.hr.a.type',
      'claims.hr.a.description',
      'claims.hr.a.in[0]',
      'claims.hr.a.value',
      'claims.hr.b.in',
      'claims.hr.d.apiResources',
      'claims.hr.e.apiResources',
      'claims.hr.f.apiResources',
      'claims[""].name',
      'claims[""].claims',
      'claimMapping.rol',
      'claimMapping.b',
      'claims.hr.sub',
    ]);
  });

  test('claims in a list have no names, and are refused', () => {
    const listed = { name: 'hr', claims: [{ ...declared, value: () => 'text' }] } as unknown as ClaimSet;
    expect(problemsOf([listed])).toMatchObject({
      code: 'invalid_options',
      problems: [
        {
          path: 'claims.hr.claims',
          expected: 'an object of claims by name: { department: { scope, type, description, value } }',
          received: 'an array',
        },
      ],
    });
  });

  test('a mapping of an unknown claim says which one may be meant', () => {
    expect(problemsOf(standardClaims({ initialsAsPicture: false, email: 'all' }), { perms: 'org' })).toMatchObject({
      code: 'invalid_options',
      problems: [{ path: 'claimMapping.perms', didYouMean: 'perm' }],
    });
  });
});

describe("an instance's mapping", () => {
  const everything = claimSubject();

  test('moves a claim to another scope', async () => {
    const resolver = createClaimResolver(standardClaims({ initialsAsPicture: false, email: 'all' }), {
      logger,
      mapping: { company_name: 'profile', role: 'staff' },
    });
    expect(resolver.scopes.get('staff')).toEqual(['role']);
    expect(resolver.scopes.get('profile')).toContain('company_name');
    expect(await resolver.resolve(everything, new Set(['profile']), 'userinfo')).toHaveProperty('company_name', 'Acme');
    expect(await resolver.resolve(everything, new Set(['org']), 'userinfo')).not.toHaveProperty('company_name');
  });

  test('removes a claim; its scope stays known', async () => {
    const resolver = createClaimResolver(standardClaims({ initialsAsPicture: false, email: 'all' }), { logger, mapping: { perm: false } });
    expect(resolver.declarations.map(({ name }) => name)).not.toContain('perm');
    expect(resolver.scopes.get('perms')).toEqual([]);
    expect(await resolver.resolve(everything, new Set(['perms']), 'userinfo')).toEqual({});
  });

  test('a removed claim makes room for a claim of the same name', async () => {
    const own = defineClaims({
      name: 'avatars',
      claims: { picture: { ...declared, value: () => 'https://a.test/1' } },
    });
    const resolver = createClaimResolver([...standardClaims({ initialsAsPicture: false, email: 'all' }), own], {
      logger,
      mapping: { picture: false },
    });
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
    const resolver = createClaimResolver([...standardClaims({ initialsAsPicture: false, email: 'all' }), own], { logger });
    expect(resolver.declarations.slice(-2)).toEqual([
      { name: 'desk', ...declared, targets: ['userinfo'] },
      { name: 'team', ...declared, targets: claimTargets },
    ]);
    expect(resolver.scopes.get('hr')).toEqual(['desk', 'team']);
  });
});
