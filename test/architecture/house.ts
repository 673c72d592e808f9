/** The house of the design, as a table: who may import whom. */
import type { Graph } from './imports.js';

/** `*` stands for one name, a `/` at the end for everything below. `type ` before it: types alone. */
type Pattern = string;

interface Room {
  readonly files: Pattern;
  /** Sources besides the files of the same room. */
  readonly mayImport: readonly Pattern[];
}

/** The first room that fits a file is its room. */
const rooms: readonly Room[] = [
  { files: 'lib/index.ts', mayImport: ['lib/'] },
  { files: 'lib/create-identity-provider.ts', mayImport: ['lib/', 'adapters/memory/', 'extensions/'] },
  { files: 'lib/errors.ts', mayImport: [] },
  { files: 'lib/logger.ts', mayImport: [] },
  {
    files: 'lib/*.ts',
    mayImport: ['lib/errors.ts', 'lib/logger.ts', 'lib/store/', 'type lib/directory/', 'type lib/oidc/', 'type lib/http/'],
  },
  { files: 'lib/store/', mayImport: ['lib/errors.ts', 'type lib/logger.ts'] },
  { files: 'lib/directory/', mayImport: ['lib/store/', 'lib/events.ts', 'lib/errors.ts', 'lib/logger.ts', 'lib/nearest.ts'] },
  {
    files: 'lib/oidc/',
    mayImport: [
      'lib/directory/',
      'lib/claim*.ts',
      'lib/acr-values.ts',
      'lib/http/basic-credentials.ts',
      'lib/http/request-id.ts',
      'lib/store/',
      'lib/errors.ts',
      'type lib/*.ts',
      'type lib/http/',
    ],
  },
  { files: 'lib/http/', mayImport: ['lib/directory/', 'lib/errors.ts', 'type lib/logger.ts', 'type lib/extension.ts'] },
  {
    files: 'extensions/*/',
    mayImport: [
      'lib/extension.ts',
      'lib/claims.ts',
      'lib/sign-in-method.ts',
      'lib/http/',
      'lib/errors.ts',
      'lib/events.ts',
      'type lib/directory/',
      'type lib/store/',
    ],
  },
  { files: 'adapters/*/', mayImport: ['lib/store/', 'lib/errors.ts'] },
  { files: 'examples/*/', mayImport: [] },
];

/** Files with one importer each: the inside of the library never goes through its own door. */
const importers: Readonly<Record<string, readonly string[]>> = {
  'lib/index.ts': [],
  'lib/create-identity-provider.ts': ['lib/index.ts'],
};

/** The contract files that hand oidc-provider itself to the user: its configuration in, the instance out. */
const passOn = ['lib/options.ts', 'lib/identity-provider.ts'];

const drawers = ['utils', 'util', 'helpers', 'helper', 'common', 'misc', 'shared'];

const expression = (pattern: Pattern) => new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]+').replace(/\/$/, '/.*')}$`);

const fits = (path: string, pattern: Pattern) => expression(pattern).test(path);

/** The folder or file that a file shares with its room: the extension's own for `extensions/*\/`. */
function roomOf(file: string) {
  const room = rooms.find(({ files }) => fits(file, files));
  return (
    room && {
      ...room,
      own: room.files.endsWith('/')
        ? `${file
            .split('/')
            .slice(0, room.files.split('/').length - 1)
            .join('/')}/`
        : room.files,
    }
  );
}

const isPath = (target: string) => /^(lib|adapters|extensions|examples|test|bench)\//.test(target) || target.startsWith('.');

function importProblem(file: string, entry: string, dependencies: readonly string[]): string | undefined {
  const target = entry.replace(/^type /, '');
  const room = roomOf(file);
  if (!room) return 'is in no room of the house';
  if (target === '?') return 'imports a computed name';
  if (isPath(target)) {
    const allowed = [room.own, ...room.mayImport].some((pattern) =>
      pattern.startsWith('type ') ? entry.startsWith('type ') && fits(target, pattern.slice(5)) : fits(target, pattern),
    );
    return allowed && (importers[target]?.includes(file) ?? true) ? undefined : `imports ${entry}`;
  }
  if (target.startsWith('node:')) return undefined;
  const name = target.split('/', target.startsWith('@') ? 2 : 1).join('/');
  const example = file.startsWith('examples/');
  if (name === 'tenant-idp') return example ? undefined : `imports ${entry} by its public name`;
  if (name === 'oidc-provider') {
    if (!file.startsWith('lib/oidc/') && !(entry.startsWith('type ') && passOn.includes(file)))
      return `imports ${entry}: only lib/oidc may`;
    if (target !== name && !/^lib\/oidc\/(internals|oidc-provider\.d)\.ts$/.test(file))
      return `imports ${entry}: only lib/oidc/internals.ts goes that deep`;
  }
  return example || dependencies.includes(name) ? undefined : `imports ${entry}, which users of the package do not get`;
}

/** Every import that the house does not allow. `dependencies`: packages that users of the package get. */
export function importProblems(graph: Graph, dependencies: readonly string[]): string[] {
  return Object.entries(graph).flatMap(([file, imports]) => {
    if (!roomOf(file)) return [`${file} is in no room of the house`];
    return imports.flatMap((entry) => importProblem(file, entry, dependencies) ?? []).map((problem) => `${file} ${problem}`);
  });
}

/** Files and folders with a name that says nothing. */
export const drawerProblems = (files: readonly string[]): string[] =>
  files.filter((file) => file.split('/').some((part) => drawers.includes(part.replace(/\..*$/, '')))).map((file) => `${file} is a drawer`);

/** One cycle for each import that closes one, as `a → b → a`; types count. */
export function cycles(graph: Graph): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) found.push([...path.slice(start), file].join(' → '));
    if (start >= 0 || done.has(file)) return;
    for (const entry of graph[file] ?? []) walk(entry.replace(/^type /, ''), [...path, file]);
    done.add(file);
  };
  for (const file of Object.keys(graph)) walk(file, []);
  return found;
}
