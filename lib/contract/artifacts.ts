/** Short-lived artifacts that an extension declares. */
import { type OptionPath, unknownMembers, wrong } from '../config-problem.js';
import type { ConfigProblem } from '../errors.js';
import type { ArtifactKind } from '../store/records/extension-artifacts.js';
import { isOwnName, OWN_NAME } from './collections.js';

const members = ['name', 'lifetimeSeconds', 'once', 'account', 'ofGrant', 'unsealed'];
const MAX_SECONDS = 400 * 86_400;
const isFlag = (value: unknown): boolean => value === undefined || typeof value === 'boolean';

/** Returns the problems of a kind of artifacts. */
export function findArtifactProblems(value: unknown, extension: unknown, path: OptionPath): readonly ConfigProblem[] {
  const kind = value as Partial<ArtifactKind> | null;
  if (typeof kind !== 'object' || kind === null)
    return [wrong(path, "a kind of artifacts, such as { name: 'shop.carts', lifetimeSeconds: 600 }", value)];
  const { name, lifetimeSeconds, once, account, ofGrant, unsealed } = kind;
  const isLifetime = Number.isInteger(lifetimeSeconds) && Number(lifetimeSeconds) > 0 && Number(lifetimeSeconds) <= MAX_SECONDS;
  const wants: readonly [holds: boolean, member: string, expected: string, found: unknown][] = [
    [isOwnName(name, extension), 'name', OWN_NAME, name],
    [isLifetime, 'lifetimeSeconds', `seconds, 1 to ${MAX_SECONDS}`, lifetimeSeconds],
    [isFlag(once), 'once', 'true or false', once],
    [isFlag(account), 'account', 'true or false', account],
    [isFlag(ofGrant), 'ofGrant', 'true or false', ofGrant],
    [isFlag(unsealed), 'unsealed', 'true or false', unsealed],
  ];
  return [
    ...unknownMembers(kind, path, members, 'a member of kinds of artifacts that exists'),
    ...wants.flatMap(([holds, member, expected, found]) => (holds ? [] : [wrong([...path, member], expected, found, true)])),
  ];
}
