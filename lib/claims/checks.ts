/** Checks of claim sets, as a compiler would make them, and of the names in the option `claimMapping`. */

import type { OptionPath } from '../config-problem.js';
import { isFunction, isObject, unknownMembers, unknownName, withMeant, wrong } from '../config-problem.js';
import type { ConfigProblem } from '../errors.js';
import type { ClaimDeclaration, ClaimMapping, ClaimSet } from './contract.js';
import { claimNeeds, claimTargets } from './contract.js';
import { isOfClaimType } from './types.js';

const scopeToken = /^[\x21\x23-\x5B\x5D-\x7E]+$/;
/** Maximum milliseconds of a timer. */
const MAX_TIMEOUT = 2 ** 31 - 1;
const typeNames = Object.keys(isOfClaimType);
const targetNames: readonly string[] = [...claimTargets, 'access_token'];
const setMembers: readonly (keyof ClaimSet)[] = ['name', 'scopes', 'needs', 'load', 'timeoutMs', 'onError', 'claims'];
const claimMembers: readonly (keyof ClaimDeclaration<never>)[] = ['scope', 'type', 'description', 'in', 'apiResources', 'value'];

/** Returns the well-formed declarations of a set, by claim name. */
export const declarationsOf = ({ claims }: ClaimSet): readonly (readonly [string, ClaimDeclaration<never>])[] =>
  isObject(claims) ? Object.entries(claims).filter(([, declaration]) => isObject(declaration)) : [];

export function checkClaimSet(set: ClaimSet): ConfigProblem[] {
  const { name, scopes = [], needs = [], load, timeoutMs = 1000, onError = 'omit', claims } = set;
  const { problems, expect } = problemsAt('claims', String(name));
  problems.push(...unknownMembers(set, ['claims', String(name)], setMembers, 'a member of claim sets that exists'));
  expect(isText(name), ['name'], "a name, such as 'hr'", name);
  problems.push(...checkListOf(claimNeeds, needs, ['claims', String(name), 'needs']));
  expect(load === undefined || isFunction(load), ['load'], 'a function: async (context) => …', load);
  expect(isTimeout(timeoutMs), ['timeoutMs'], `milliseconds, 1 to ${MAX_TIMEOUT}`, timeoutMs);
  expect(onError === 'omit' || onError === 'fail', ['onError'], `'omit' or 'fail'`, onError);
  expect(isListOf(scopes, isScope), ['scopes'], "a list of scope names, such as ['hr']", scopes);
  expect(isObject(claims), ['claims'], 'an object of claims by name: { department: { scope, type, description, value } }', claims);
  for (const [claim, declaration] of Object.entries(isObject(claims) ? claims : {}))
    expect(isObject(declaration), [claim], 'a claim declaration: { scope, type, description, value }', declaration);
  for (const [claim, declaration] of declarationsOf(set)) {
    const { scope, type, description, in: targets = claimTargets, apiResources, value } = declaration;
    problems.push(
      ...unknownMembers(declaration, ['claims', String(name), claim], claimMembers, 'a member of claim declarations that exists'),
    );
    expect(isScope(scope), [claim, 'scope'], "the name of a scope, such as 'hr'", scope);
    expect(typeNames.includes(type), [claim, 'type'], `one of ${typeNames.join(', ')}`, type);
    expect(isText(description), [claim, 'description'], "a text, such as 'The department of the person'", description);
    expect(!Array.isArray(targets) || targets.length > 0, [claim, 'in'], `at least one of ${targetNames.join(', ')}`, targets);
    problems.push(...checkListOf(targetNames, targets, ['claims', String(name), claim, 'in']));
    if (Array.isArray(targets) && targets.includes('access_token'))
      expect(
        isNames(apiResources),
        [claim, 'apiResources'],
        "a list of ids of API resources whose access tokens have the claim, such as ['orders']",
        apiResources,
      );
    else expect(apiResources === undefined, [claim, 'apiResources'], "nothing but with in: ['access_token']", apiResources);
    expect(isFunction(value), [claim, 'value'], 'a function: (context) => …', value);
  }
  return problems;
}

export function checkMapping(sets: readonly ClaimSet[], mapping: ClaimMapping): ConfigProblem[] {
  const names = sets.flatMap((set) => declarationsOf(set).map(([claim]) => claim));
  const { problems, expect } = problemsAt('claimMapping');
  for (const [claim, scope] of Object.entries(mapping)) {
    if (!names.includes(claim))
      problems.push(unknownName(['claimMapping', claim], claim, names, 'the name of a claim that a claim set declares'));
    expect(scope === false || isScope(scope), [claim], SCOPE_OR_FALSE, scope);
  }
  return problems;
}

function problemsAt(...root: OptionPath) {
  const problems: ConfigProblem[] = [];
  const expect = (holds: boolean, path: OptionPath, expected: string, value: unknown): void => {
    if (!holds) problems.push(wrong([...root, ...path], expected, value));
  };
  return { problems, expect };
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
/** Expected value for the scope of a mapped claim. */
export const SCOPE_OR_FALSE = "the name of a scope, such as 'hr', or false";
/** @see RFC 6749 §3.3 */
export const isScope = (value: unknown): boolean => typeof value === 'string' && scopeToken.test(value);
const isTimeout = (value: number): boolean => Number.isInteger(value) && value > 0 && value <= MAX_TIMEOUT;
const isListOf = (value: unknown, check: (item: unknown) => boolean): boolean => Array.isArray(value) && value.every(check);
const isNames = (value: unknown): boolean => isListOf(value, isText) && (value as unknown[]).length > 0;

/** Checks a list of names. Each unknown name has a problem, with the nearest known name. */
function checkListOf(names: readonly string[], value: unknown, path: OptionPath): readonly ConfigProblem[] {
  if (!Array.isArray(value)) return [wrong(path, `a list of some of ${names.join(', ')}`, value)];
  return value.flatMap((entry, index) =>
    names.includes(entry) ? [] : [withMeant(wrong([...path, index], `one of ${names.join(', ')}`, entry), String(entry), names)],
  );
}
