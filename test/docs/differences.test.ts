/** Issue 12: each difference between the service's handlers and oidc-provider's has a reason, in one table that is compared with the decisions. */
import { expect, test } from '@jest/globals';
import { differenceProblems, differences } from '../support/both-ways-differences.js';
import { pageAt } from './pages.js';

const decided = pageAt('docs/decisions.md')
  .table('Differences from oidc-provider', 'Request')
  .map(([concerns = '']) => concerns);

test('the differences that the comparison allows are those that were decided', () => {
  expect(differenceProblems(differences, decided)).toEqual([]);
});

test('a difference that nobody decided, one that is not compared, and one that is there twice are told', () => {
  const table = [{ concerns: 'a' }, { concerns: 'b' }, { concerns: 'b' }];
  expect(differenceProblems(table, ['b', 'c'])).toEqual(['nobody decided: a', 'decided, and not compared: c', 'twice: b']);
});
