/** Checks of options against each other. A value that is invalid by itself is skipped, because another check reports the value. */
import type { JWK } from 'jose';
import { reservedClaims } from '../claims/contract.js';
import { type OptionPath, valueAt, wrong } from '../config-problem.js';
import type { ConfigProblem } from '../errors.js';
import { defaults } from './defaults.js';
import { findFeatureProblems } from './features.js';
import { checkSigningKey } from './values.js';

export const findContradictions = (options: unknown): readonly ConfigProblem[] => [
  ...findRepeatedNames(options, 'claims'),
  ...findRepeatedNames(options, 'extensions'),
  ...findReservedClaims(options),
  ...findSigningKeyProblems(options),
  ...findRotationProblems(options),
  ...findIdleBeyondAbsolute(options, 'refreshTokenIdle', 'refreshTokenAbsolute'),
  ...findIdleBeyondAbsolute(options, 'sessionIdle', 'sessionAbsolute'),
  ...findUntellable(options),
  ...findFeatureProblems(options),
  ...findProfileProblems(options),
];

/** Returns options that contradict FAPI 2.0 for all clients. @see FAPI 2.0 Security Profile §5.3.2.1, §5.4.1 */
function findProfileProblems(options: unknown): readonly ConfigProblem[] {
  if (valueAt(options, ['fapi']) !== '2.0') return [];
  const isOn = (...path: OptionPath): boolean => valueAt(options, ['features', ...path]) === true;
  const dPoP = ['features', 'dPoP', 'enabled'];
  const isBound = valueAt(options, dPoP) !== false || (isOn('mTLS', 'enabled') && isOn('mTLS', 'certificateBoundAccessTokens'));
  const keys = listAt(options, ['keys', 'signing']);
  const hasEcKey = keys.length === 0 || keys.some((key) => valueAt(key, ['kty']) === 'EC');
  return [
    ...(isBound ? [] : [wrong(dPoP, 'true, or mTLS with certificateBoundAccessTokens, because fapi binds every token', false)]),
    ...(hasEcKey ? [] : [wrong(['keys', 'signing'], 'a P-256 key among them, because clients of fapi get ES256', keys)]),
    ...(isOn('fapi', 'enabled')
      ? [wrong(['features', 'fapi', 'enabled'], 'false or nothing, because the option fapi sets FAPI 2.0 for all clients', true)]
      : []),
  ];
}

/** Finds options that notify users by mail, without the option `mail`. */
const findUntellable = (options: unknown): readonly ConfigProblem[] =>
  [['impersonation', 'notify'] as const, ['ciba', 'email'] as const, ['signInHistory', 'notify'] as const].flatMap((path) =>
    valueAt(options, path) === true && valueAt(options, ['mail']) === undefined
      ? [wrong(path, 'the option mail, by which users are notified: set it, or leave this one out', true)]
      : [],
  );

const listAt = (options: unknown, path: OptionPath): readonly unknown[] => {
  const value = valueAt(options, path);
  return Array.isArray(value) ? value : [];
};

function findRepeatedNames(options: unknown, option: 'claims' | 'extensions'): readonly ConfigProblem[] {
  const names = listAt(options, [option]).map((item) => valueAt(item, ['name']));
  return names.flatMap((name, index) =>
    typeof name === 'string' && names.indexOf(name) < index
      ? [wrong([option, index, 'name'], `a name that ${option}[${names.indexOf(name)}] does not have`, name, true)]
      : [],
  );
}

function findReservedClaims(options: unknown): readonly ConfigProblem[] {
  const reserved: ReadonlySet<string> = new Set(reservedClaims);
  const mapping = valueAt(options, ['claimMapping']);
  return Object.keys(Object(mapping))
    .filter((claim) => reserved.has(claim))
    .map((claim) =>
      wrong(
        ['claimMapping', claim],
        `a claim that a claim set declares; the protocol sets ${claim} itself, so leave it out`,
        valueAt(mapping, [claim]),
      ),
    );
}

/** @see OpenID Connect Core §15.1 */
function findSigningKeyProblems(options: unknown): readonly ConfigProblem[] {
  const path = ['keys', 'signing'];
  const keys = listAt(options, path);
  if (keys.length === 0 || keys.some((key) => checkSigningKey(key) !== undefined)) return [];
  const kids = keys.map((key) => (key as JWK).kid);
  const repeated = kids.flatMap((kid, index) =>
    kid !== undefined && kids.indexOf(kid) < index
      ? [wrong([...path, index, 'kid'], `a kid that keys.signing[${kids.indexOf(kid)}] does not have`, kid)]
      : [],
  );
  const hasRsa = keys.some((key) => (key as JWK).kty === 'RSA');
  return hasRsa ? repeated : [...repeated, wrong(path, 'an RSA key among them, because every client understands RS256', keys)];
}

/** Finds rotation times with which a signature could not be verified, because the signing key is not published. */
function findRotationProblems(options: unknown): readonly ConfigProblem[] {
  const given = valueAt(options, ['keys', 'rotation']);
  const secondsOf = (name: 'active' | 'announced' | 'retiring') => Number(valueAt(given, [name]) ?? defaults.keys.rotation[name]);
  const signed = (['idToken', 'jwtAccessToken', 'sessionAbsolute'] as const).map((name) => ({
    name,
    seconds: Number(valueAt(options, ['lifetimes', name]) ?? defaults.lifetimes[name]),
  }));
  const longest = signed.reduce((a, b) => (b.seconds > a.seconds ? b : a));
  return [
    ...(secondsOf('announced') > secondsOf('active')
      ? [wrong(['keys', 'rotation', 'announced'], `at most keys.rotation.active, ${secondsOf('active')}`, valueAt(given, ['announced']))]
      : []),
    ...(secondsOf('retiring') < longest.seconds
      ? [wrong(['keys', 'rotation', 'retiring'], `at least lifetimes.${longest.name}, ${longest.seconds}`, valueAt(given, ['retiring']))]
      : []),
  ];
}

function findIdleBeyondAbsolute(
  options: unknown,
  idle: 'refreshTokenIdle' | 'sessionIdle',
  absolute: 'refreshTokenAbsolute' | 'sessionAbsolute',
): readonly ConfigProblem[] {
  const lasts = valueAt(options, ['lifetimes', idle]);
  const ends = valueAt(options, ['lifetimes', absolute]) ?? defaults.lifetimes[absolute];
  return typeof lasts === 'number' && typeof ends === 'number' && lasts > ends
    ? [wrong(['lifetimes', idle], `at most lifetimes.${absolute}, ${ends}`, lasts)]
    : [];
}
