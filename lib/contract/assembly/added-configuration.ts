/** Members that extensions add to the configuration of oidc-provider. An extension cannot change a member of another extension or of the service. */
import { ConfigError, type ConfigProblem } from '../../errors.js';
import type { Extension } from '../extension.js';
import type { ContextOf } from '../extension-context.js';

/** Members that extensions may add names to. */
const groups = ['features', 'routes', 'ttl'] as const;

/** Features that only add an endpoint. Other features change the answers of the service's handlers, or need data that the service does not store. */
const addable: readonly string[] = ['ciba'];

type Configuration = Readonly<Record<string, unknown>>;
type Group = Readonly<Record<string, unknown>>;

/**
 * Returns the configuration with the members that extensions add.
 * @throws ConfigError if extensions may not add to a member, or if a name already has an owner. The error names both owners.
 */
export function withAdditions<C extends object>(configuration: C, extensions: readonly Extension[], contextOf: ContextOf): C {
  const added = { ...configuration } as Record<string, unknown>;
  const owners = new Map<string, string>();
  for (const { name, configure } of extensions) {
    const addition = (configure?.({ ...added }, contextOf(name)) ?? {}) as Configuration;
    const problems = problemsOf(name, addition);
    if (problems.length > 0) throw new ConfigError('invalid_options', problems);
    for (const path of Object.values(addition.routes ?? {}))
      refuseTaken(`the path ${path}`, name, Object.values((added.routes ?? {}) as Group).includes(path), owners);
    for (const group of groups) {
      const [given, before] = [(addition[group] ?? {}) as Group, (added[group] ?? {}) as Group];
      for (const member of Object.keys(given)) refuseTaken(`${group}.${member}`, name, before[member] !== undefined, owners);
      if (Object.keys(given).length > 0) added[group] = { ...before, ...given };
    }
  }
  return added as C;
}

function problemsOf(owner: string, addition: Configuration): readonly ConfigProblem[] {
  const path = `extensions.${owner}.configure`;
  const { features = {}, routes = {}, ttl = {} } = addition as Readonly<Record<string, Group>>;
  const report = (at: string, expected: string, isRight: boolean): readonly ConfigProblem[] =>
    isRight ? [] : [{ path: `${path}.${at}`, expected }];
  return [
    ...Object.keys(addition).flatMap((name) =>
      report(
        name,
        `one of ${groups.join(', ')}`,
        groups.some((group) => group === name),
      ),
    ),
    ...Object.keys(features).flatMap((name) => report(`features.${name}`, `one of ${addable.join(', ')}`, addable.includes(name))),
    ...Object.entries(routes).flatMap(([name, value]) =>
      report(`routes.${name}`, "a path that begins with '/', such as '/badges'", typeof value === 'string' && /^\/[\w./-]+$/.test(value)),
    ),
    ...Object.entries(ttl).flatMap(([name, value]) =>
      report(`ttl.${name}`, 'a number of seconds above 0', typeof value === 'number' && value > 0),
    ),
  ];
}

function refuseTaken(member: string, name: string, isTaken: boolean, owners: Map<string, string>): void {
  const owner = owners.get(member) ?? (isTaken ? 'the service' : undefined);
  if (owner !== undefined)
    throw new ConfigError('extension_conflict', [
      { path: 'extensions', expected: `one owner of ${member}`, received: `${owner} and ${name}` },
    ]);
  owners.set(member, name);
}
