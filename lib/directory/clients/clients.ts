/**
 * Clients, API resources, and the consents of users.
 *
 * A client and an API resource authenticate by id, so no two of either kind have the same id (`shared-ids`). `client-metadata` checks the metadata of a
 * client, and `client-scopes` its scopes.
 */
import { type Static, Type } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import type { Page } from '../../store/directory-store.js';
import { clientMembers } from '../../store/records/clients.js';
import type { Client } from '../../store/records/records.js';
import { inputSchema, secretText, token } from '../../text/schemas.js';
import { type CachedCollection, createCachedCollection } from '../cached-collection.js';
import type { DirectoryContext } from '../context.js';
import { checkOwnSecret, createSecrets, hashedSecret, newSecret } from '../credentials/secrets.js';
import {
  type CheckCurrent,
  checkBranding,
  checkInput,
  defined,
  isRecord,
  newRecord,
  type Patch,
  patched,
  patchSchema,
  withDefaults,
} from '../input.js';
import { createStatusList, type Listed, type StatusQuery } from '../lists/list.js';
import type { HeldWrite } from '../name-space.js';
import { changed, pendingEvent, withEvents } from '../outbox/pending-events.js';
import { authMethod, findAllClientProblems, findIdProblems, findProblemsOfChange, type RecordProblem } from './client-metadata.js';
import { existingScopesFor, findScopeProblems } from './client-scopes.js';
import { clientVoucherFor, withClientVoucher } from './client-vouchers.js';
import { type UnderstoodMetadata, understoodMetadata } from './pasted-metadata.js';
import { checkSharedId } from './shared-ids.js';

const clientFields = inputSchema(clientMembers);
const clientPatch = patchSchema(clientFields);
/** @interface */
export type ClientFields = Static<typeof clientFields>;

/** Input of a new client. All members except id and name have a default. `secret` sets a chosen secret. */
export type ClientInput = Pick<Client, 'id' | 'name'> & Partial<ClientFields> & { readonly secret?: string };

export const clientDefaults: Omit<ClientFields, 'name'> = {
  metadata: {},
  allowedScopes: [],
  allowPlainPkce: false,
  requireConsent: false,
  accessTokenType: 'reference',
  idTokenClaims: 'minimal',
  lifetimes: {},
  introspects: 'own',
  adminTenants: [],
  trustedLoginHint: false,
  corsOrigins: [],
  status: 'active',
};

export const clientInput = inputSchema({
  id: token(),
  ...withDefaults(clientMembers, clientDefaults),
  secret: Type.Optional(secretText()),
});

export interface Clients {
  /**
   * Creates a client. A client that authenticates by a secret gets a new secret, unless the input has one. `secret` is returned only here.
   * @param makeSecret returns a secret that cannot be guessed
   * @throws IdpError `invalid_record`; `conflict` if a client or an API resource has the id.
   */
  create(input: ClientInput, makeSecret?: () => Promise<string>): Promise<{ readonly client: Client; readonly secret?: string }>;
  get(id: string): Promise<Client | undefined>;
  /** Returns the result of {@link get} if it is in memory. */
  peek(id: string): Client | undefined;
  /** @throws IdpError `not_found`. */
  require(id: string): Promise<Client>;
  find(page?: Page): Promise<readonly Client[]>;
  /** @throws IdpError `invalid_request`, `invalid_cursor`. */
  list(query?: StatusQuery): Promise<Listed<Client>>;
  /**
   * Changes a client.
   * @param isConfirmed whether the caller vouches for the secrets and the metadata that others wrote, so that scopes of the admin API and login hints count
   * @throws IdpError `not_found`, `invalid_record`.
   */
  update(id: string, patch: Patch<ClientFields>, check?: CheckCurrent<Client>, isConfirmed?: boolean): Promise<Client>;
  /** Removes the client after its consents. @throws IdpError `not_found`. */
  remove(id: string): Promise<void>;
  /** Adds a secret. The previous secret stays valid until the next rotation. @throws IdpError `not_found`, `invalid_record`. */
  rotateSecret(id: string, secret?: string, check?: CheckCurrent<Client>): Promise<{ readonly client: Client; readonly secret: string }>;
  /**
   * Returns metadata of a document in the spelling of the standards, which {@link create} and {@link update} require.
   * @param written metadata, or a JSON Merge Patch of metadata
   * @param before the metadata that a patch changes
   * @throws IdpError `invalid_record` if a required JWK cannot be used.
   */
  understood(written: Readonly<Record<string, unknown>>, before?: Client['metadata']): UnderstoodMetadata;
  /** Returns the problems of a client before it is created. */
  problemsOf(input: ClientInput): readonly RecordProblem[];
  /** Returns the client if the secret is one of its valid secrets. */
  checkSecret(id: string, secret: string): Promise<Client | undefined>;
}

interface Scope {
  readonly context: DirectoryContext;
  readonly rows: CachedCollection<Client>;
  readonly vouchedBy: ReturnType<typeof clientVoucherFor>;
}

export function createClients(context: DirectoryContext): Clients {
  const { collections, now } = context;
  const rows = createCachedCollection('clients', collections.clients, context);
  const vouchedBy = clientVoucherFor(context);
  const scope: Scope = { context, rows, vouchedBy };
  const secrets = createSecrets(
    rows,
    context,
    (id) => eventOf(context, 'ClientSecretAdded', id),
    (before, next) => withClientVoucher(before, next, vouchedBy),
  );
  return {
    get: rows.get,
    peek: rows.peek,
    require: rows.require,
    find: (page) => collections.clients.find({}, page),
    list: createStatusList<Client>(context, 'clients', collections.clients),
    create: (input, makeSecret = async () => newSecret()) => create(scope, input, makeSecret),
    update: (id, patch, check, isConfirmed) => update(scope, id, patch, check, isConfirmed),
    async remove(id) {
      await removeConsents(context, id);
      await rows.remove(id, eventOf(context, 'ClientRemoved', id));
      await context.idpNames.release(id, 'client');
      await context.sharedIds.release(id, 'client');
      // Consents are removed again, because a user may have consented in between.
      await removeConsents(context, id);
    },
    async rotateSecret(id, given, check) {
      const { record: client, secret } = await secrets.rotate(id, given, check);
      return { client, secret };
    },
    understood: (written, before = {}) => understoodMetadata(written, before, context),
    problemsOf({ id, secret: _secret, ...given }) {
      const client = { ...newRecord(now, id, { ...clientDefaults, ...defined(given), secrets: [] }), version: 1 };
      return withoutSalt(context, findAllClientProblems(client, context), client);
    },
    checkSecret: secrets.check,
  };
}

type ClientEvent = 'ClientCreated' | 'ClientUpdated' | 'ClientRemoved' | 'ClientSecretAdded';
const eventOf = ({ now }: DirectoryContext, type: ClientEvent, id: string) => pendingEvent(now, type, undefined, { AggregateId: id });

/** Checks that no method or connection has the client's id, because the client is the `idp` of sign-ins by its hints. */
const withHintName = ({ idpNames }: DirectoryContext, id: string, isTrusted: unknown, heldWrite: HeldWrite<Client>): Promise<Client> =>
  isTrusted === true ? idpNames.hold(id, 'client', heldWrite) : heldWrite.write();

/** Lets a seed start in production without a salt for pairwise clients. Sign-ins of pairwise clients are refused until there is a salt. */
const withoutSalt = (
  { by }: DirectoryContext,
  problems: readonly RecordProblem[],
  { metadata }: Pick<Client, 'metadata'>,
): readonly RecordProblem[] =>
  by.actor === 'seed' && metadata.subject_type === 'pairwise' ? problems.filter(({ path }) => path !== '/metadata/subject_type') : problems;

async function removeConsents({ collections: { consents } }: DirectoryContext, id: string): Promise<void> {
  for (const consent of await consents.find({ byClient: [id] })) await consents.remove(consent.id);
}

async function create(
  { context, rows, vouchedBy }: Scope,
  input: ClientInput,
  makeSecret: () => Promise<string>,
): ReturnType<Clients['create']> {
  const { now } = context;
  checkInput(clientInput, input);
  checkBranding(input.styles, '/styles');
  const { id, secret: own, ...given } = input;
  checkOwnSecret(own, context);
  checkSharedId(id, context);
  const issued = own === undefined && usesSecret(given.metadata ?? {}) ? await makeSecret() : undefined;
  const secret = own ?? issued;
  const client = newRecord(now, id, {
    ...clientDefaults,
    ...defined(given),
    secrets: secret === undefined ? [] : [hashedSecret(secret)],
    ...(vouchedBy.by === 'tenant' && { vouchedBy }),
  });
  refuse([
    ...findIdProblems(client.id, context),
    ...withoutSalt(context, findAllClientProblems({ ...client, version: 1 }, context), client),
    ...findScopeProblems(client.allowedScopes, await existingScopesFor(client.allowedScopes, context)),
  ]);
  const undo = () => rows.remove(id, eventOf(context, 'ClientRemoved', id), isRecord(client));
  const insert = { write: () => rows.insert(withEvents(client, eventOf(context, 'ClientCreated', id))), undo };
  const inserted = await withHintName(context, id, given.trustedLoginHint, {
    write: () => context.sharedIds.hold(id, 'client', insert),
    undo,
  });
  return issued === undefined ? { client: inserted } : { client: inserted, secret: issued };
}

async function update(
  { context, rows, vouchedBy }: Scope,
  id: string,
  patch: Patch<ClientFields>,
  check: CheckCurrent<Client> | undefined,
  isConfirmed: boolean | undefined,
): Promise<Client> {
  const { now } = context;
  checkInput(clientPatch, patch);
  checkBranding(patch.styles, '/styles');
  const { allowedScopes = [] } = patch;
  const existing = await existingScopesFor(allowedScopes, context);
  let wasTrusted = true;
  const change = (row: Client): Client => {
    check?.(row);
    wasTrusted = row.trustedLoginHint;
    const next = withClientVoucher(row, patched(now, row, patch), vouchedBy, isConfirmed);
    const grantable = new Set([...existing, ...row.allowedScopes]);
    refuse([...withoutSalt(context, findProblemsOfChange(row, next, context), next), ...findScopeProblems(allowedScopes, grantable)]);
    return changed(row, next, eventOf(context, 'ClientUpdated', id));
  };
  const distrusted = (row: Client): Client =>
    wasTrusted ? row : changed(row, patched(now, row, { trustedLoginHint: false }), eventOf(context, 'ClientUpdated', id));
  const client = await withHintName(context, id, patch.trustedLoginHint, {
    write: () => rows.update(id, change),
    undo: () => rows.update(id, distrusted),
  });
  if (patch.trustedLoginHint === false) await context.idpNames.release(id, 'client');
  return client;
}

/** Returns the code challenge methods that some client may use. Returns a promise only if clients have to be read. @see RFC 7636 §4.3 */
export function createPkceMethods({ collections, caches }: DirectoryContext): () => readonly string[] | Promise<readonly string[]> {
  const all = caches.over(['clients'], async () => {
    const clients = await collections.clients.find({});
    return clients.some(({ allowPlainPkce, status }) => allowPlainPkce && status === 'active') ? withPlain : hashedOnly;
  });
  return () => all.peek('all') ?? all.get('all').then((methods) => methods ?? hashedOnly);
}

const hashedOnly: readonly string[] = ['S256'];
const withPlain: readonly string[] = ['S256', 'plain'];

/** Returns whether a client with this metadata authenticates with a secret. */
export const usesSecret = (metadata: Client['metadata']): boolean => String(authMethod(metadata)).startsWith('client_secret_');

/** @throws IdpError `invalid_record` with the first problem, and all problems as `problems`. */
function refuse(problems: readonly RecordProblem[]): void {
  const [first] = problems;
  if (first) throw new IdpError('invalid_record', { ...first, problems });
}
