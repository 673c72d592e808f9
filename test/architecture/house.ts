/** The house of the design, as a table of allowed imports. */
import type { Graph } from './imports.js';

/** Pattern of paths: `*` stands for one name, a `/` at the end for everything below. `type ` at the beginning: types alone. */
type Pattern = string;

interface Room {
  readonly files: Pattern;
  /** Sources, in addition to the files of the same room. */
  readonly mayImport: readonly Pattern[];
}

/** All rooms. A file is in the first room that fits. */
const rooms: readonly Room[] = [
  { files: 'lib/index.ts', mayImport: ['lib/'] },
  {
    files: 'lib/service/on-first-use.ts',
    mayImport: ['lib/service/create-identity-provider.ts', 'lib/service/copy-directory.ts', 'type lib/'],
  },
  { files: 'lib/service/create-identity-provider.ts', mayImport: ['lib/', 'extensions/index.ts'] },
  { files: 'lib/service/copy-directory.ts', mayImport: ['lib/'] },
  { files: 'lib/service/settings.ts', mayImport: ['lib/', 'extensions/index.ts'] },
  { files: 'lib/service/additions.ts', mayImport: ['lib/service/late.ts', 'lib/contract/', 'lib/oidc/configuration.ts', 'type lib/'] },
  { files: 'lib/service/late.ts', mayImport: [] },
  { files: 'lib/service/closing.ts', mayImport: ['type lib/awaitable.ts'] },
  { files: 'lib/service/phases/stores.ts', mayImport: ['lib/', 'adapters/memory/'] },
  { files: 'lib/service/phases/', mayImport: ['lib/'] },
  { files: 'lib/service/identity-provider.ts', mayImport: ['type lib/'] },
  {
    files: 'lib/service/configuration-problems.ts',
    mayImport: ['lib/contract/', 'lib/directory/', 'lib/fetch/', 'lib/oidc/', 'type lib/'],
  },
  { files: 'lib/service/attempts.ts', mayImport: ['lib/errors.ts', 'lib/store/', 'type lib/contract/'] },
  { files: 'lib/service/form-records.ts', mayImport: ['lib/errors.ts', 'lib/store/'] },
  { files: 'lib/service/extension-context.ts', mayImport: ['lib/'] },
  { files: 'lib/service/mail.ts', mayImport: ['lib/text/', 'lib/times/', 'type lib/*.ts', 'type lib/contract/', 'type lib/options/'] },
  {
    files: 'lib/service/extension-work.ts',
    mayImport: [
      'lib/background/',
      'lib/contract/',
      'lib/times/',
      'lib/errors.ts',
      'type lib/*.ts',
      'type lib/directory/',
      'type lib/store/',
    ],
  },
  { files: 'lib/service/extension-data.ts', mayImport: ['lib/contract/', 'lib/directory/', 'lib/store/'] },
  {
    files: 'lib/extension-door.ts',
    mayImport: [
      'lib/acr-values.ts',
      'lib/background/back-off.ts',
      'lib/claims/contract.ts',
      'lib/contract/',
      'lib/display/',
      'lib/directory/accounts/accounts.ts',
      'lib/directory/accounts/ways-in.ts',
      'lib/directory/clients/client-vouchers.ts',
      'lib/store/records/admin-scopes.ts',
      'lib/store/records/left-out.ts',
      'lib/directory/input.ts',
      'lib/directory/schema-parts.ts',
      'lib/directory/lists/known-part.ts',
      'lib/directory/lists/readable-page.ts',
      'lib/directory/persons/self-service.ts',
      'lib/directory/record-forms.ts',
      'lib/directory/tenants/sign-in-policy.ts',
      'lib/directory/vouchers.ts',
      'lib/errors.ts',
      'lib/fetch/loopback.ts',
      'lib/http/',
      'lib/logger.ts',
      'lib/text/',
      'lib/times/',
      'type lib/*.ts',
      'type lib/directory/',
      'type lib/fetch/',
      'type lib/store/',
    ],
  },
  { files: 'lib/store-door.ts', mayImport: ['lib/errors.ts', 'lib/store/'] },
  { files: 'lib/testing-door.ts', mayImport: ['lib/testing/'] },
  // The client runs where the service does not: in scripts and other programs, on `fetch` alone.
  { files: 'lib/admin-client/', mayImport: [] },
  { files: 'lib/awaitable.ts', mayImport: [] },
  { files: 'lib/present.ts', mayImport: [] },
  { files: 'lib/errors.ts', mayImport: [] },
  { files: 'lib/logger.ts', mayImport: [] },
  {
    files: 'lib/*.ts',
    mayImport: [
      'lib/errors.ts',
      'lib/logger.ts',
      'lib/store/',
      'type lib/contract/clients/',
      'type lib/contract/sign-in/',
      'type lib/options/',
      'type lib/directory/',
      'type lib/oidc/',
      'type lib/http/',
    ],
  },
  { files: 'lib/text/', mayImport: [] },
  {
    files: 'lib/store/',
    mayImport: ['lib/background/', 'lib/errors.ts', 'lib/present.ts', 'lib/text/', 'lib/times/', 'type lib/logger.ts'],
  },
  { files: 'lib/fetch/', mayImport: ['lib/text/can-parse-url.ts', 'lib/times/'] },
  { files: 'lib/display/', mayImport: [] },
  { files: 'lib/times/', mayImport: [] },
  { files: 'lib/background/', mayImport: ['lib/errors.ts', 'lib/times/', 'type lib/awaitable.ts', 'type lib/logger.ts'] },
  {
    files: 'lib/claims/',
    mayImport: ['lib/awaitable.ts', 'lib/config-problem.ts', 'lib/errors.ts', 'type lib/logger.ts', 'type lib/store/'],
  },
  { files: 'lib/testing/', mayImport: ['lib/claims/', 'type lib/logger.ts', 'type lib/store/'] },
  {
    files: 'lib/contract/',
    mayImport: [
      'lib/store/records/left-out.ts',
      'lib/display/',
      'lib/claims/',
      'lib/config-problem.ts',
      'lib/errors.ts',
      'lib/events.ts',
      'lib/text/',
      'lib/times/',
      'type lib/fetch/',
      'type lib/*.ts',
      'type lib/directory/',
      'type lib/http/pages/html.ts',
      'type lib/store/',
    ],
  },
  {
    files: 'lib/options/',
    mayImport: [
      'lib/claims/',
      'lib/config-problem.ts',
      'lib/display/',
      'lib/errors.ts',
      'lib/logger.ts',
      'lib/text/',
      'lib/times/',
      'type lib/contract/',
      'type lib/directory/',
      'type lib/store/',
    ],
  },
  {
    files: 'lib/directory/',
    mayImport: [
      'lib/background/',
      'lib/awaitable.ts',
      'lib/display/',
      'lib/fetch/loopback.ts',
      'lib/store/',
      'lib/text/',
      'lib/times/',
      'lib/events.ts',
      'lib/errors.ts',
      'lib/logger.ts',
      'lib/nearest-name.ts',
    ],
  },
  {
    files: 'lib/oidc/',
    mayImport: [
      'lib/background/',
      'lib/directory/',
      'lib/claims/',
      'lib/display/',
      'lib/fetch/loopback.ts',
      'lib/http/clients/basic-credentials.ts',
      'lib/http/clients/refused-clients.ts',
      'lib/http/error-answers.ts',
      'lib/http/failures.ts',
      'lib/http/header-values.ts',
      'lib/http/requests/kept-size.ts',
      'lib/http/requests/posted-form.ts',
      'lib/http/requests/request-id.ts',
      'lib/http/requests/unread-request.ts',
      'lib/store/',
      'lib/text/',
      'lib/times/',
      'lib/acr-values.ts',
      'lib/awaitable.ts',
      'lib/errors.ts',
      'lib/paths.ts',
      'type lib/*.ts',
      'type lib/contract/',
      'type lib/fetch/',
      'type lib/http/',
      'type lib/options/',
    ],
  },
  {
    files: 'lib/http/',
    mayImport: [
      'lib/directory/',
      'lib/text/',
      'lib/times/',
      'lib/errors.ts',
      'lib/paths.ts',
      'lib/contract/browser-records.ts',
      'lib/contract/route-names.ts',
      'lib/contract/schema-formats.ts',
      'type lib/logger.ts',
      'type lib/contract/',
    ],
  },
  { files: 'extensions/index.ts', mayImport: ['extensions/', 'type lib/extension-door.ts'] },
  // Extensions of the service come in by the same door as a host's extensions. Otherwise they would prove nothing about the door.
  { files: 'extensions/*/', mayImport: ['lib/extension-door.ts'] },
  { files: 'adapters/sql/', mayImport: ['lib/store/'] },
  { files: 'adapters/*/', mayImport: ['adapters/sql/', 'lib/store/', 'lib/times/', 'lib/errors.ts'] },
  { files: 'examples/*/', mayImport: [] },
];

/** The rooms of a folder from top to bottom. A room imports the rooms below it. Rooms of one floor do not import each other. */
export const floors: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'lib/service/': [
    ['on-first-use.ts'],
    ['create-identity-provider.ts', 'copy-directory.ts'],
    ['phases/'],
    [
      'settings.ts',
      'extension-context.ts',
      'extension-work.ts',
      'extension-data.ts',
      'form-records.ts',
      'mail.ts',
      'attempts.ts',
      'closing.ts',
    ],
    ['additions.ts', 'configuration-problems.ts', 'identity-provider.ts'],
    ['late.ts'],
  ],
  'lib/service/phases/': [['start.ts'], ['extensions.ts'], ['protocol.ts'], ['directory.ts'], ['stores.ts']],
  'lib/oidc/': [
    ['protocol.ts'],
    ['middleware.ts'],
    ['hooks.ts', 'instances.ts'],
    ['parts.ts', 'rooms.ts'],
    ['configuration.ts', 'discovery.ts'],
    ['interactions/'],
    ['tokens/', 'authorize/'],
    ['sessions/'],
    ['accounts/'],
    ['clients/'],
    ['context.ts'],
    ['keys/', 'upstream/'],
    ['artifacts/'],
  ],
  'lib/oidc/tokens/': [
    ['doors/'],
    ['revocation.ts', 'userinfo.ts', 'grants/'],
    ['introspection.ts', 'issue.ts', 'read-access-token.ts'],
    ['found-token.ts', 'possession.ts'],
    ['access-token-jwt.ts', 'lifetimes.ts', 'token-request.ts'],
  ],
  'lib/contract/': [
    ['assembly/', 'browser-records.ts', 'own-page.ts', 'per-context.ts', 'seed.ts'],
    ['extension.ts'],
    ['extension-context.ts'],
    ['context/'],
    ['artifacts.ts', 'bearer.ts', 'clients/', 'configuration.ts', 'resources.ts', 'work.ts', 'pages/'],
    ['attempt-limits.ts', 'collections.ts', 'sign-in/'],
    ['limit.ts', 'route-names.ts', 'routes.ts', 'schema-formats.ts', 'shared-claims.ts'],
  ],
  'lib/http/': [
    ['hosts.ts'],
    ['app.ts', 'host-headers.ts'],
    ['admission.ts', 'documents.ts', 'endpoint-middleware.ts', 'errors.ts', 'extension-router.ts', 'servers.ts', 'unknown-paths.ts'],
    ['error-answers.ts', 'failures.ts', 'form-routes.ts', 'clients/'],
    ['pages/', 'requests/'],
    ['drain.ts', 'header-values.ts'],
  ],
  'lib/store/': [
    ['caches/', 'outages/'],
    ['records/', 'times/'],
    ['artifact-key.ts', 'index-order.ts', 'row-contract.ts', 'sealer.ts'],
    ['artifact-store.ts', 'directory-store.ts', 'random-bytes.ts'],
  ],
  'lib/directory/': [
    ['index.ts'],
    ['seed/'],
    ['create-directory.ts', 'record-forms.ts'],
    ['directory.ts', 'record-problems.ts'],
    ['invitations/', 'recovery/', 'removal/'],
    ['accounts/'],
    ['persons/'],
    ['groups/'],
    ['tenants/'],
    ['clients/'],
    ['credentials/', 'signing-keys/'],
    ['lists/', 'outbox/'],
    ['cached-collection.ts'],
    ['idp-names.ts', 'mailed-links.ts', 'seed-ledger.ts', 'vouchers.ts'],
    ['context.ts'],
    ['attributes.ts', 'keyed-hashes/'],
    ['name-space.ts', 'input.ts', 'identifiers.ts', 'read-many.ts', 'schema-parts.ts'],
  ],
};

/** Files with at most one importer each, because the inside of the library never goes through its own door. */
const importers: Readonly<Record<string, readonly string[]>> = {
  'lib/index.ts': [],
  'lib/store-door.ts': [],
  'lib/testing-door.ts': [],
  'lib/service/on-first-use.ts': ['lib/index.ts'],
  'lib/service/create-identity-provider.ts': ['lib/service/on-first-use.ts'],
  'lib/service/configuration-problems.ts': ['lib/service/settings.ts'],
};

/** File of the demo that plays another provider. The file may import oidc-provider. */
const ownProvider = 'examples/local/own-provider.ts';

/** Files that work on plain objects alone. Every room may import these files. Extensions get them by their door. */
const everywhere: readonly Pattern[] = ['lib/present.ts'];

/** The contract files that hand oidc-provider itself to the user: its configuration in, the instance out. */
const passOn = ['lib/options/options.ts', 'lib/service/identity-provider.ts'];

const drawers = ['utils', 'util', 'helpers', 'helper', 'common', 'misc', 'shared'];

const expression = (pattern: Pattern) => new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]+').replace(/\/$/, '/.*')}$`);

const fits = (path: string, pattern: Pattern) => expression(pattern).test(path);

/** Returns the room of a file. `own` is the folder or file that the file shares with its room: the extension's for `extensions/*\/`. */
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

interface Place {
  readonly folder: string;
  readonly room: string;
  /** Number of floors above the room. */
  readonly floor: number;
}

/** Returns the room of a file in each folder with floors that contains the file. A room may have floors of its own. */
const placesOf = (file: string): readonly Place[] =>
  Object.entries(floors).flatMap(([folder, all]) => {
    if (!file.startsWith(folder)) return [];
    const room = all.flat().find((name) => (name.endsWith('/') ? file.startsWith(folder + name) : file === folder + name)) ?? '';
    return { folder, room, floor: all.findIndex((rooms) => rooms.includes(room)) };
  });

/** Returns the problem of an import between rooms of a folder that does not go down. */
function orderProblem(file: string, target: string): string | undefined {
  const targets = placesOf(target);
  const wrong = placesOf(file).flatMap((from) => {
    const to = targets.find(({ folder }) => folder === from.folder);
    return to && from.room !== to.room && from.floor >= to.floor ? (from.floor === to.floor ? 'beside' : 'above') : [];
  });
  return wrong[0] && `imports ${target}, which is ${wrong[0]} it`;
}

const isPath = (target: string) => /^(lib|adapters|extensions|examples|test|bench)\//.test(target) || target.startsWith('.');

function importProblem(file: string, entry: string, dependencies: readonly string[]): string | undefined {
  const target = entry.replace(/^type /, '');
  const room = roomOf(file);
  if (!room) return 'is in no room of the house';
  if (target === '?') return 'imports a computed name';
  if (isPath(target)) {
    const allowed = [room.own, ...room.mayImport, ...(file.startsWith('extensions/') ? [] : everywhere)].some((pattern) =>
      pattern.startsWith('type ') ? entry.startsWith('type ') && fits(target, pattern.slice(5)) : fits(target, pattern),
    );
    if (!allowed || importers[target]?.includes(file) === false) return `imports ${entry}`;
    return orderProblem(file, target);
  }
  if (target.startsWith('node:')) return undefined;
  const name = target.split('/', target.startsWith('@') ? 2 : 1).join('/');
  const example = file.startsWith('examples/');
  if (name === 'tenant-idp') return example ? undefined : `imports ${entry} by its public name`;
  if (name === 'oidc-provider') {
    if (!file.startsWith('lib/oidc/') && file !== ownProvider && !(entry.startsWith('type ') && passOn.includes(file)))
      return `imports ${entry}: only lib/oidc may`;
    if (target !== name && !file.startsWith('lib/oidc/upstream/')) return `imports ${entry}: only lib/oidc/upstream goes that deep`;
  }
  return example || dependencies.includes(name) ? undefined : `imports ${entry}, which users of the package do not get`;
}

/** Returns every import that the house does not allow. @param dependencies packages that users of the package get */
export function importProblems(graph: Graph, dependencies: readonly string[]): string[] {
  return Object.entries(graph).flatMap(([file, imports]) => {
    if (!roomOf(file) || placesOf(file).some(({ room }) => room === '')) return [`${file} is in no room of the house`];
    return imports.flatMap((entry) => importProblem(file, entry, dependencies) ?? []).map((problem) => `${file} ${problem}`);
  });
}

/** Returns the files and folders with a name that says nothing. */
export const drawerProblems = (files: readonly string[]): string[] =>
  files.filter((file) => file.split('/').some((part) => drawers.includes(part.replace(/\..*$/, '')))).map((file) => `${file} is a drawer`);

/** Returns one cycle for each import that closes one, as `a → b → a`. Imports of types count. */
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
