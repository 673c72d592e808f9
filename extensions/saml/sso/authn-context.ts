/**
 * How strongly somebody has to have signed in, and what the assertion says of it: any sign-in, one with a password, one with a second factor. A sign-in at
 * another provider, or by a key alone, counts as one with a password where a service provider asks for one, because most products ask for it without
 * meaning it, and have no way to ask for any sign-in.
 * @see SAML Core §3.3.2.2.1, SAML Authentication Context §3.4
 */
import type { SignedIn } from '../../../lib/extension-door.js';
import type { RequestedAuthnContext } from '../messages/inbound.js';

const CLASSES = 'urn:oasis:names:tc:SAML:2.0:ac:classes:';
const UNSPECIFIED = `${CLASSES}unspecified`;
const PASSWORD = `${CLASSES}PasswordProtectedTransport`;
/** @see REFEDS MFA Profile 1.2 */
const MFA = 'https://refeds.org/profile/mfa';

/** In the order of their strength. */
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

/** Requirements of a request that the service knows. They are stored until the user has signed in, so they contain no text of the request. */
export interface UnderstoodContext extends Pick<RequestedAuthnContext, 'comparison'> {
  /** The classes that have a level here, each once, in the order of the request. */
  readonly classes: readonly string[];
  /** Whether the request names nothing else. */
  readonly isAllKnown: boolean;
}

export function understoodContext({ comparison, classRefs, hasDeclarations }: RequestedAuthnContext): UnderstoodContext {
  const knownClasses = classRefs.filter((name) => levels.has(name));
  return { comparison, classes: [...new Set(knownClasses)], isAllKnown: knownClasses.length === classRefs.length && !hasDeclarations };
}

export interface WantedContext {
  /** Whether a second factor is needed. */
  readonly mfa: boolean;
  /** The class that the assertion names; undefined where the sign-in is not what is asked for. */
  classOf(signIn: Pick<SignedIn, 'amr'>): string | undefined;
}

/** @returns undefined for what no sign-in here can be. */
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
  /** The strongest of those that are named, up to what the sign-in is. */
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
      // One that is not known might be stronger than all.
      if (strongest === mfaLevel || !isAllKnown) return undefined;
      return {
        mfa: strongest === 1,
        classOf: (signIn) => (levelOf(signIn) > strongest ? (levelOf(signIn) === mfaLevel ? MFA : PASSWORD) : undefined),
      };
  }
}

const levelOf = ({ amr }: Pick<SignedIn, 'amr'>): Level => (amr.includes('mfa') ? mfaLevel : 1);

/** What a sign-in is called by itself. */
function ownClassOf({ amr }: Pick<SignedIn, 'amr'>): string {
  if (amr.includes('mfa')) return MFA;
  return amr.includes('pwd') ? PASSWORD : UNSPECIFIED;
}
