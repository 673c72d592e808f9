/** The SAML page: its tables compared with the code. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { saml } from 'tenant-idp/extensions/saml';
import ts from 'typescript';
import { refusals } from '../../extensions/saml/messages/refused.js';
import { resolveSamlOptions } from '../../extensions/saml/options.js';
import { serviceProviderFields } from '../../extensions/saml/service-providers/records.js';
import { statuses, statusOf } from '../../extensions/saml/sso/statuses.js';
import { parse } from '../architecture/imports.js';
import { pageAt } from '../docs/pages.js';

const page = pageAt('docs/saml.md');
const { errorCodes = {}, events = [] } = saml();

/** Returns the data of the events that the extension declares by declaration merging. */
function declaredEvents(): Readonly<Record<string, readonly string[]>> {
  const folder = 'extensions/saml';
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('events.ts'));
  const found: Record<string, readonly string[]> = {};
  const visit = (node: ts.Node): void => {
    if (ts.isInterfaceDeclaration(node) && node.name.text === 'EventMap')
      for (const { name, type } of node.members as unknown as readonly ts.PropertySignature[])
        found[(name as ts.Identifier).text] = (type as ts.TypeLiteralNode).members.map((member) => (member.name as ts.Identifier).text);
    ts.forEachChild(node, visit);
  };
  for (const file of files) visit(parse(file, readFileSync(`${folder}/${file}`, 'utf8')));
  return found;
}

test('options and their defaults', () => {
  const documented = page.table('Options', 'Option').map(([name, value = '']) => [name, value]);
  const words = { entityId: 'the URL of its metadata', keys: 'made and kept by the service' };
  expect(documented).toEqual(
    Object.entries(resolveSamlOptions({})).map(([name, value]) => [name, words[name as keyof typeof words] ?? String(value)]),
  );
});

test('events and their data', () => {
  const declared = declaredEvents();
  expect(Object.keys(declared).sort()).toEqual([...events].sort());
  expect(page.table('Events', 'Event').map(([name, more = '']) => [name, 'AggregateId', ...(more.match(/\w+/g) ?? [])])).toEqual(
    events.map((name) => [name, ...(declared[name] ?? [])]),
  );
});

test('errors, with their status and words', () => {
  expect(page.table('Errors', 'Code')).toEqual(
    Object.entries(errorCodes).map(([code, { status, description }]) => [code, String(status), description]),
  );
});

test('fields of a service provider', () => {
  const fields = page.table('Service providers', 'Field').flatMap(([name = '']) => name.match(/\w+/g) ?? []);
  expect(fields.sort()).toEqual(Object.keys(serviceProviderFields).sort());
});

test('reasons of refused messages', () => {
  expect(page.table('Refused messages', 'Reason')).toEqual(Object.entries(refusals));
});

test('statuses are those that the code can answer', () => {
  const documented = page.table('Sign-in', 'What happens').map(([, status = '']) => status.replaceAll('`', '').split(', '));
  const errors = ['login_required', 'access_denied', 'unmet_authentication_requirements', 'server_error'].flatMap((error) =>
    [true, false].flatMap((isPassive) => statusOf(error, isPassive) ?? []),
  );
  const made = Object.values(statuses).map((status) => (typeof status === 'function' ? status('') : status));
  const known = new Set([...errors, ...made].map(({ code, subCode }) => [code, ...(subCode === undefined ? [] : [subCode])].join(' ')));
  expect([...new Set(documented.map((each) => each.join(' ')))].sort()).toEqual([...known].sort());
});

test('log lines are those that the code writes', () => {
  const code = readdirSync('extensions/saml', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(`extensions/saml/${name}`, 'utf8'))
    .join('\n');
  const written = [...code.matchAll(/'(saml\.(?:response|(?:logout|request)\.\w+))'/g)].map(([, name = '']) => name);
  const lines = page.table('Log lines', 'Line').map(([name = '']) => name);
  expect([...lines].sort()).toEqual(written.sort());
});

test('problems of health are those that the code names', () => {
  const code = readdirSync('extensions/saml', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(`extensions/saml/${name}`, 'utf8'))
    .join('\n');
  const problems = page.table('Health', 'Problem').map(([name = '']) => name);
  expect(problems.filter((name) => !code.includes(`'${name}'`))).toEqual([]);
  const named = [...code.matchAll(/'(saml_(?:metadata|certificate|key_unreadable)\w*)'/g)].map(([, name = '']) => name);
  expect([...new Set(named)].sort()).toEqual([...problems].sort());
});
