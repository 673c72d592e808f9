/**
 * Authentication contexts: the strength that a request asks for, and the class that the assertion states. There are three levels: any sign-in, a sign-in
 * with a password, a sign-in with a second factor.
 *
 * A sign-in at an upstream provider, or with a passkey alone, satisfies a request for a password. Most products request a password by default, and cannot
 * request any sign-in.
 * @see SAML Core §3.3.2.2.1, SAML Authentication Context §3.4
 */
import type { SignedIn } from '../../../lib/extension-door.js';
import type { RequestedAuthnContext } from '../messages/inbound.js';

const CLASSES = 'urn:oasis:names:tc:SAML:2.0:ac:classes:';
const UNSPECIFIED = `${CLASSES}unspecified`;
const PASSWORD = `${CLASSES}PasswordProtectedTransport`;
/** @see REFEDS MFA Profile 1.2 */
const MFA = 'https://refeds.org/profile/mfa';

/** Strength of a sign-in, in ascending order. */
type Level = 0 | 1 | 2;
const mfaLevel: Level = 2;

const levels: ReadonlyMap<string, Level> = new Map([
  [UNSPECIFIED, 0],
  [`${CLASSES}Password`, 1],
  [PASSWORD, 1],
  ['https://refeds.org/profile/sfa', 1],
  [MFA, mfaLevel],
  ['http://schemas.microsoft.com/claims/multipleauthn', mfaLevel],
  [`${CLASSES}TimeSyncToken`, mfaLevel],
]);

/** Requirements of a request that the service knows. The requirements are stored until the user has signed in, so they contain no text of the request. */
export interface UnderstoodContext extends Pick<RequestedAuthnContext, 'comparison'> {
  /** Requested classes that have a level here, each once, in the order of the request. */
  readonly classes: readonly string[];
  /** Whether every class of the request has a level here, and the request has no declarations. */
  readonly isAllKnown: boolean;
}

export function understoodContext({ comparison, classRefs, hasDeclarations }: RequestedAuthnContext): UnderstoodContext {
  const knownClasses = classRefs.filter((name) => levels.has(name));
  return { comparison, classes: [...new Set(knownClasses)], isAllKnown: knownClasses.length === classRefs.length && !hasDeclarations };
}

export interface WantedContext {
  /** Whether the sign-in needs a second factor. */
  readonly mfa: boolean;
  /** Returns the class that the assertion states. Undefined if the sign-in does not satisfy the request. */
  classOf(signIn: Pick<SignedIn, 'amr'>): string | undefined;
}

/** Returns what a sign-in must be. Undefined if no sign-in of this service can satisfy the request. */
export function wantedContext(asked: UnderstoodContext | undefined): WantedContext | undefined {
  if (!asked) return { mfa: false, classOf: ownClassOf };
  const { comparison, classes, isAllKnown } = asked;
  const leveled = classes.flatMap((name) => {
    const level = levels.get(name);
    return level === undefined ? [] : [{ name, level }];
  });
  const wantedLevels = leveled.map(({ level }) => level);
  if (wantedLevels.length === 0) return undefined;
  const [weakest, strongest] = [Math.min(...wantedLevels), Math.max(...wantedLevels)];
  /** Returns the strongest requested class that is not stronger than the level. */
  const named = (level: Level): string | undefined =>
    leveled.filter((each) => each.level <= level).sort((one, other) => other.level - one.level)[0]?.name;
  const ofLevel = (level: Level): string | undefined => leveled.find((each) => each.level === level)?.name;
  switch (comparison) {
    case 'exact':
      return { mfa: weakest === mfaLevel, classOf: (signIn) => named(levelOf(signIn)) };
    case 'minimum':
      return {
        mfa: weakest === mfaLevel,
        classOf: (signIn) => (levelOf(signIn) < weakest ? undefined : (ofLevel(levelOf(signIn)) ?? ownClassOf(signIn))),
      };
    case 'maximum':
      return {
        mfa: false,
        classOf: (signIn) => (levelOf(signIn) > strongest ? named(levelOf(signIn)) : (ofLevel(levelOf(signIn)) ?? ownClassOf(signIn))),
      };
    case 'better':
      // An unknown class may be stronger than all known classes.
      if (strongest === mfaLevel || !isAllKnown) return undefined;
      return {
        mfa: strongest === 1,
        classOf: (signIn) => (levelOf(signIn) > strongest ? (levelOf(signIn) === mfaLevel ? MFA : PASSWORD) : undefined),
      };
  }
}

const levelOf = ({ amr }: Pick<SignedIn, 'amr'>): Level => (amr.includes('mfa') ? mfaLevel : 1);

/** Returns the class of a sign-in for which nothing was requested. */
function ownClassOf({ amr }: Pick<SignedIn, 'amr'>): string {
  if (amr.includes('mfa')) return MFA;
  return amr.includes('pwd') ? PASSWORD : UNSPECIFIED;
}
