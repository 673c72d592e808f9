/** README.md is short, shows the demo as it is, and leads to every other page. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { pageAt, pages } from './pages.js';

const readme = pageAt('README.md');

describe('the README', () => {
  test('has at most 160 lines', () => {
    expect(readme.text.trimEnd().split('\n').length).toBeLessThanOrEqual(160);
  });

  test('leads to every page of the documentation', () => {
    const all = pages.map(({ path }) => path).filter((path) => !['README.md', 'CONTRIBUTING.md'].includes(path));
    const map = readme
      .table('Map of the documentation', 'Page')
      .flatMap(([cell = '']) => [...cell.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link));
    expect(map.toSorted()).toEqual(all.toSorted());
  });

  test('accounts and clients are those of the demo', () => {
    const seed = readFileSync('examples/local/seed.ts', 'utf8');
    const named = [...readme.table('Try it', 'Account'), ...readme.table('Try it', 'Client')].flatMap(([name = '', secret = '']) => [
      name,
      secret,
    ]);
    expect(named.filter((name) => name !== '–' && !seed.includes(`'${name}'`))).toEqual([]);
    const secrets = [...seed.matchAll(/(?:userName|devPassword|secret): '([^']+)'/g)].map(([, value]) => value);
    expect(secrets.length).toBeGreaterThan(5);
    expect(secrets.filter((value) => !named.includes(value ?? ''))).toEqual([]);
  });
});
