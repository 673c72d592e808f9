/** docs/connect-an-application.md: its table, its sections and the tests of its applications belong together. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { applications, blocksOf, page, settingsIn } from './applications.js';

const folder = 'test/relying-parties';
const sources = readdirSync(folder).filter((file) => file.endsWith('.test.ts'));
const triedHere = new Set(
  sources.flatMap((file) =>
    [...readFileSync(`${folder}/${file}`, 'utf8').matchAll(/\b(?:trySignIn|tryInBrowser)\(\s*'([^']+)'/g)].map(([, name = '']) => name),
  ),
);
const tried = applications.filter(({ isTried }) => isTried);
/** Sections of the page that are about no application. */
const general = ['Connect an application', 'Identify users', 'Applications', 'Sign out', "A tool on a person's machine"];

test('each application stands in the table once', () => {
  const names = applications.map(({ name }) => name);
  expect(names.length).toBeGreaterThanOrEqual(22);
  expect(new Set(names).size).toBe(names.length);
});

test('each application that was tried has a section with a block, and each section is linked', () => {
  expect(tried.filter(({ section }) => !section || blocksOf(section).length === 0).map(({ name }) => name)).toEqual([]);
  const linked = applications.flatMap(({ section }) => section ?? []);
  const sections = [...page.text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title);
  expect(linked.toSorted()).toEqual(sections.filter((title) => !general.includes(title)).toSorted());
});

test('each application that was tried is tried by a test, and each test has its row', () => {
  expect([...triedHere].toSorted()).toEqual(tried.map(({ name }) => name).toSorted());
});

test('cells have the words that the page explains', () => {
  expect(tried.filter(({ triedWith }) => triedWith.size === 0).map(({ name }) => name)).toEqual([]);
  const words = tried.map(({ name, email, idTokenClaims, signOut }) => ({ name, email, idTokenClaims, signOut }));
  expect(
    words.filter(
      ({ email, idTokenClaims, signOut }) =>
        !["`'first'`", '–'].includes(email) ||
        !["`'scopes'`", '–'].includes(idTokenClaims) ||
        signOut.some((word) => !['RP-initiated', 'back channel', 'front channel'].includes(word)),
    ),
  ).toEqual([]);
});

test('settings in the table stand in the blocks', () => {
  const missing = applications.flatMap(({ name, section, pkce, nonce }) => {
    const code = blocksOf(section ?? '').map((block) => block.code);
    return [...settingsIn(pkce), ...settingsIn(nonce)]
      .filter((setting) => !code.some((text) => text.includes(setting)))
      .map((setting) => `${name}: ${setting}`);
  });
  expect(missing).toEqual([]);
});

test('versions of packages that the repository has are those that are installed', () => {
  const own = tried.flatMap(({ triedWith }) => [...triedWith].filter(([name]) => existsSync(`node_modules/${name}/package.json`)));
  const installed = (name: string) =>
    (JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')) as { version: string }).version;
  expect(own.length).toBeGreaterThan(3);
  expect(own).toEqual(own.map(([name]) => [name, installed(name)]));
});
