/** Clients and API resources. Both authenticate with secrets that the service generates and shows once. At most two secrets are valid. */
import { randomBytes } from 'node:crypto';
import {
  ADMIN_API,
  type ApiResource,
  type Client,
  type Directory,
  defineOperation,
  IdpError,
  instant,
  isAdminScope,
  type Operation,
  recordForms,
  strict,
  Type,
  writeJudged,
} from '../../../lib/extension-door.js';
import { checkScopesOfClient, checkTrustOfClient } from '../privileges.js';
import { isMalformed } from '../unreadable.js';
import { confirm, type MeansChecks } from './means.js';
import { crud, type Request, type Understood } from './shape/crud.js';
import { form, itemOf, viewOf, without } from './shape/forms.js';
import type { Fields } from './shape/merge-patch.js';

const secrets = Type.Array(form({ expiresAt: Type.Optional(instant()) }), { description: 'Valid secrets, newest first.' });
const secret = Type.Optional(Type.String({ description: 'Shown only in this answer.' }));
const Secret = Type.Object(
  { secret: Type.String({ description: 'Shown only in this answer.' }) },
  { $id: 'Secret', additionalProperties: false },
);

const warnings = Type.Optional(
  Type.Array(Type.Object({ path: Type.String(), reason: Type.String() }, strict), {
    description: 'Parts of the metadata that the service ignored or reinterpreted. Only the answer to the write has this member.',
  }),
);

/** Returns a new secret of 256 bits, as base64url. */
const newSecret = (): string => randomBytes(32).toString('base64url');

type Holder = Client | ApiResource;

/** Returns the operations of a kind of record that has secrets. */
function holders<Row extends Holder>(
  options: Pick<
    Parameters<typeof crud<Row>>[0],
    'name' | 'noun' | 'path' | 'record' | 'form' | 'changeable' | 'always' | 'errors' | 'guard' | 'guardRemoval' | 'understood'
  > & {
    readonly title: string;
    readonly create: (
      directory: Directory,
      input: never,
      makeSecret: () => Promise<string>,
    ) => Promise<{ readonly row: Row; readonly secret?: string | undefined }>;
    readonly service: (
      directory: Directory,
    ) => Pick<Directory['clients'] | Directory['apiResources'], 'list' | 'get' | 'update' | 'remove'>;
    /** Gives the record a secret. @param check gets the record before the write, and throws if it is not the version that was compared */
    readonly rotate: (directory: Directory, id: string, secret: string, check: (row: Row) => void) => Promise<unknown>;
  },
): readonly Operation[] {
  const { title, create, service, rotate, guard, always = [], form: given = form({}) } = options;
  const members = without(given, 'secret');
  const item = itemOf(title, members, always, { secrets, secret, ...(options.understood && { warnings }) });
  const shown = viewOf<Fields>(without(item, 'secrets'));
  const view = (row: Fields): Fields => ({
    ...shown(row),
    secrets: (row.secrets as Holder['secrets']).map(({ expiresAt }) => (expiresAt ? { expiresAt: expiresAt.toISOString() } : {})),
  });
  return [
    ...crud<Row>({
      ...options,
      item,
      view: (row) => view(row as unknown as Fields),
      query: recordForms.lists.status,
      form: members,
      changeable: options.changeable ?? members,
      isRemovable: true,
      outsideTag: ['secret', 'warnings'],
      service({ directory, remember }) {
        const all = service(directory);
        return {
          ...(all as object),
          // The admin API itself has no record.
          get: async (id: string) => (id === ADMIN_API ? undefined : ((await all.get(id)) as Row | undefined)),
          async create(input: never) {
            const { row, secret: made } = await create(directory, input, () => remember('secret', newSecret));
            return { ...row, ...(made !== undefined && { secret: made }) };
          },
        };
      },
    }),
    defineOperation({
      method: 'POST',
      path: `${options.path}/{id}/secrets`,
      scope: `idp.${options.name}:write`,
      summary: `Creates another secret for ${options.noun}, and keeps the previous secret valid until the next rotation`,
      answer: Secret,
      errors: options.errors ?? [],
      async handle(request) {
        const { id } = request.params as { readonly id: string };
        const row = (await service(request.directory).get(id)) as Row | undefined;
        if (!row) throw new IdpError('not_found');
        const made = await request.remember('secret', newSecret);
        await writeJudged(
          row,
          (judged) => guard?.(request as never, judged, {}),
          (check) => rotate(request.directory, id, made, check),
        );
        return { secret: made };
      },
    }),
  ];
}

/** Returns the scopes that a client may have had: all existing scopes, if its stored scopes are malformed. */
const scopesBefore = async (request: Request, client: Client | undefined): Promise<readonly string[]> =>
  isMalformed(request, '/allowedScopes') ? [...(await request.directory.existingScopes())] : (client?.allowedScopes ?? []);

/** Reads metadata as administrators paste it. Members that the request does not write stay as they are. */
function understood({ body, directory }: Request, client: Client | undefined): Understood {
  if (body.metadata === undefined) return { body, warnings: [] };
  const { metadata, warnings } = directory.clients.understood(body.metadata as Fields, client?.metadata);
  return { body: { ...body, metadata }, warnings };
}

export const clients = (means: Pick<MeansChecks, 'ofClient'>): readonly Operation[] =>
  holders<Client>({
    name: 'clients',
    noun: 'a client',
    title: 'Client',
    path: '/clients',
    form: recordForms.client,
    changeable: form({ ...without(recordForms.client, 'secret').properties, confirm }),
    always: [
      ...['metadata', 'allowedScopes', 'allowPlainPkce', 'requireConsent', 'accessTokenType', 'idTokenClaims', 'lifetimes'],
      ...['introspects', 'adminTenants', 'trustedLoginHint', 'corsOrigins', 'status', 'confirm'],
    ],
    errors: ['grant_exceeds_own', 'means_unconfirmed'],
    understood,
    async guard(request, client, { confirm: isConfirmed, ...members }) {
      const { allowedScopes = [], trustedLoginHint = false } = { ...client, ...members } as Partial<Client>;
      const { allowedScopes: before = [] } = client ?? {};
      const wasTrusted = client?.trustedLoginHint === true || isMalformed(request, '/trustedLoginHint');
      checkScopesOfClient(request, await scopesBefore(request, client), allowedScopes);
      await checkTrustOfClient(request, wasTrusted || trustedLoginHint);
      if (!client) return undefined;
      const isGrant = allowedScopes.some((scope) => isAdminScope(scope) && !before.includes(scope)) || (trustedLoginHint && !wasTrusted);
      if (!isGrant && isConfirmed !== true) return undefined;
      return { isConfirmed: await means.ofClient(request, client, { allowedScopes, trustedLoginHint }, isConfirmed === true) };
    },
    // A caller with the scope to write clients may remove a client that signs users in, because that takes access away.
    guardRemoval: async (request, client) => checkScopesOfClient(request, await scopesBefore(request, client)),
    service: (directory) => directory.clients,
    async create(directory, input, makeSecret) {
      const { client, secret: made } = await directory.clients.create(input, makeSecret);
      return { row: client, secret: made };
    },
    rotate: (directory, id, secret, check) => directory.clients.rotateSecret(id, secret, check),
  });

export const apiResources = holders<ApiResource>({
  name: 'api-resources',
  noun: 'an API resource',
  title: 'ApiResource',
  path: '/api-resources',
  record: { collection: 'apiResources' },
  form: recordForms.apiResource,
  always: ['introspects', 'status'],
  service: (directory) => directory.apiResources,
  async create(directory, input, makeSecret) {
    const { apiResource, secret: made } = await directory.apiResources.create(input, makeSecret);
    return { row: apiResource, secret: made };
  },
  rotate: (directory, id, secret, check) => directory.apiResources.rotateSecret(id, secret, check),
});
