/**
 * Connections as resources of the admin API, of a tenant and of the instance, and as records of a seed.
 *
 * `operations` and `seed` are the two entrances, and both write by `writes`. `rules` adds the defaults of the preset and checks the connection. `schemas`
 * has the forms, and `domains` gives each domain to one connection. Only `upstream/` sends requests to a provider.
 */
import {
  defineErrors,
  defineOperation,
  type ExtensionContext,
  IdpError,
  type Operation,
  type OperationRequest,
  pageOf,
  pageOfRows,
  pageQuery,
  type Static,
} from '../../../lib/extension-door.js';
import type { ConnectionLookup } from '../lookup.js';
import { type Connection, connections } from '../records.js';
import { signedOutPath } from '../upstream/logout.js';
import { callbackPath } from '../upstream/request.js';
import { type ConnectionSecrets, publicKeys } from '../upstream/secrets.js';
import { decidesWhoSignsIn, findUnconfirmedGroups } from '../vouchers.js';
import { checked, checkReferences, type Described, described } from './rules.js';
import { ConnectionItem, form, patch, secretForm } from './schemas.js';
import { ConnectionWrites, type Place, type Writer } from './writes.js';

export const errors = defineErrors({
  operator_required: {
    status: 403,
    description:
      'Only a client that administers all tenants may choose the id and the domains of a connection. Leave them out, or use such a client.',
  },
  connection_privileged: {
    status: 403,
    description:
      'Users whom the connection could sign in, or accounts that are linked to them, may do more in the admin API than the caller. Ask an administrator who may do as much.',
  },
});

interface Parts {
  readonly context: ExtensionContext;
  readonly lookup: ConnectionLookup;
  readonly secrets: ConnectionSecrets;
}

type Request = OperationRequest<unknown, unknown, unknown>;

const read = { scope: 'idp.connections:read' } as const;
const write = { scope: 'idp.connections:write' } as const;

/** @see Operation */
const outsideTag = ['warnings'];

export function connectionOperations(parts: Parts): readonly Operation[] {
  const administration = new ConnectionAdministration(parts);
  return ['/tenants/{tid}/connections', '/connections'].flatMap((path) => operationsAt(administration, path));
}

type Answer = Static<typeof ConnectionItem>;
type WithBody<Body> = Request & { readonly body: Body };

/** Handlers of the operations, for connections of a tenant and of the instance. */
class ConnectionAdministration {
  readonly #context: ExtensionContext;
  readonly #writes: ConnectionWrites;

  constructor(parts: Parts) {
    this.#context = parts.context;
    this.#writes = new ConnectionWrites(parts);
  }

  async create(request: WithBody<Static<typeof form>>): Promise<Answer> {
    checkOperator(request, request.body);
    await this.#checkPrivileges(request);
    const place = { ...this.#placeOf(request), id: request.body.id ?? request.newId() };
    const createdAt = await request.remember('createdAt', () => new Date(this.#context.service.now()).toISOString());
    const created = request.isRetry ? await this.#rowsOf(place).get(place.id) : undefined;
    if (created?.createdAt === createdAt) return this.#itemOf(created);
    const fields = described(request.body, this.#context);
    await checkReferences(this.#context, place.tid, fields);
    const writer = await this.#writerOf(request);
    return this.#itemOf(await this.#writes.create({ ...place, createdAt }, fields, request.body.clientSecret, writer));
  }

  list(request: Request & { readonly query: { readonly limit?: number; readonly after?: string } }) {
    return pageOfRows(request.query, this.#rowsOf(this.#placeOf(request)).list, (row) => this.#view(row));
  }

  async read(request: Request): Promise<Answer> {
    return this.#itemOf(await this.#require(request));
  }

  async change(request: WithBody<Static<typeof patch>>): Promise<Answer> {
    checkOperator(request, request.body.domains === undefined ? {} : { domains: request.body.domains });
    if (decidesWhoSignsIn(request.body)) await this.#checkPrivileges(request);
    const before = await this.#require(request);
    request.checkMatch(this.#view(before));
    const { createUsersIn = before.createUsersIn, ...members } = request.body;
    const { createUsersIn: _, ...rest } = { ...before, ...members };
    const next = { ...rest, ...(createUsersIn === null || createUsersIn === undefined ? {} : { createUsersIn }) };
    const place = this.#placeOf(request);
    await checkReferences(this.#context, place.tid, checked(next as Described, this.#context.service.production));
    return this.#itemOf(await this.#writes.update(place, request.body, await this.#writerOf(request)));
  }

  async setSecret(request: WithBody<Static<typeof secretForm>>): Promise<Answer> {
    return this.#itemOf(await this.#writes.setSecret(this.#placeOf(request), request.body.clientSecret, request.by));
  }

  async rotateKey(request: Request): Promise<Answer> {
    return this.#itemOf(await this.#writes.rotateKey(this.#placeOf(request), request.by));
  }

  async remove(request: Request): Promise<void> {
    request.checkMatch(this.#view(await this.#require(request)));
    await this.removeUnreadable(request);
  }

  removeUnreadable(request: Request): Promise<void> {
    return this.#writes.remove(this.#placeOf(request), request.by);
  }

  #placeOf({ params }: Request): Place {
    const { tid = this.#context.records.ofInstance, id = '' } = params as { readonly tid?: string; readonly id?: string };
    return { tid, id };
  }

  #rowsOf({ tid }: Place) {
    return this.#context.records.collection(connections, tid);
  }

  async #require(request: Request): Promise<Connection> {
    const place = this.#placeOf(request);
    const row = await this.#rowsOf(place).get(place.id);
    if (row === undefined) throw new IdpError('not_found');
    return row;
  }

  async #writerOf(request: Request): Promise<Writer> {
    return { by: request.by, vouchedBy: await request.directory.means.voucher(this.#placeOf(request).tid) };
  }

  /** Checks the caller, because the writer of a connection can sign in as any user of the tenant. @throws IdpError `connection_privileged` */
  async #checkPrivileges(request: Request): Promise<void> {
    const { tid } = this.#placeOf(request);
    const { privileges } = this.#context.directory;
    if (!(await privileges.mayBecomeAnyone(request.administrator, tid))) throw errors('connection_privileged');
  }

  /** Returns the item with its warnings. `If-Match` ignores warnings, because they change when a provider or a group changes. */
  async #itemOf(row: Connection): Promise<Answer> {
    const warnings = [...(row.warnings ?? []), ...(await findUnconfirmedGroups(this.#context, row))];
    return { ...this.#view(row), ...(warnings.length > 0 && { warnings }) };
  }

  #view({ tid: _, version: __, secret, keys, vouchedBy: ___, groupVouchers: ____, warnings: _____, ...row }: Connection): Answer {
    const { own, url } = this.#context.service;
    const { id } = row;
    return {
      ...row,
      hasSecret: secret !== undefined,
      redirectUri: url(callbackPath(own, id)),
      postLogoutRedirectUri: url(signedOutPath(own, id)),
      ...(keys.length > 0 && { jwksUri: url(`${own}/connections/${id}/jwks`) }),
      publicKeys: publicKeys({ keys }).map((key) => ({ ...key })),
    };
  }
}

/**
 * Refuses an id and domains from a caller who administers one tenant. Only the operator checks who owns a domain, and a chosen id could be the name of another
 * tenant. @throws IdpError `operator_required`
 */
function checkOperator({ administrator: { ofAllTenants } }: Request, { id, domains }: { id?: string; domains?: readonly string[] }): void {
  if (!ofAllTenants && (id !== undefined || domains !== undefined)) throw errors('operator_required');
}

function operationsAt(administration: ConnectionAdministration, path: string): readonly Operation[] {
  const one = `${path}/{id}`;
  return [
    defineOperation({
      ...write,
      method: 'POST',
      path,
      summary: 'Creates a connection to an OpenID provider',
      body: form,
      answer: ConnectionItem,
      outsideTag,
      status: 201,
      errors: ['conflict', 'operator_required', 'connection_privileged'],
      handle: (request) => administration.create(request),
    }),
    defineOperation({
      ...read,
      method: 'GET',
      path,
      summary: 'Lists connections',
      query: pageQuery({}, ['createdAt']),
      answer: pageOf(ConnectionItem),
      handle: (request) => administration.list(request),
    }),
    defineOperation({
      ...read,
      method: 'GET',
      path: one,
      summary: 'Reads a connection, without its secret',
      answer: ConnectionItem,
      outsideTag,
      handle: (request) => administration.read(request),
    }),
    defineOperation({
      ...write,
      method: 'PATCH',
      path: one,
      summary: 'Changes a connection, except its issuer, because identities are recorded for the issuer',
      body: patch,
      answer: ConnectionItem,
      outsideTag,
      errors: ['conflict', 'operator_required', 'connection_privileged'],
      handle: (request) => administration.change(request),
    }),
    defineOperation({
      ...write,
      method: 'PUT',
      path: `${one}/secret`,
      summary: 'Stores the client secret that the provider issued for a connection',
      body: secretForm,
      answer: ConnectionItem,
      outsideTag,
      handle: (request) => administration.setSecret(request),
    }),
    defineOperation({
      ...write,
      method: 'POST',
      path: `${one}/rotate-key`,
      summary: 'Creates a new signing key for a connection with private_key_jwt, and keeps the previous signing key in the key set',
      answer: ConnectionItem,
      outsideTag,
      handle: (request) => administration.rotateKey(request),
    }),
    defineOperation({
      ...write,
      method: 'DELETE',
      path: one,
      summary: 'Removes a connection, whose recorded identities no longer sign in anybody',
      record: { collection: connections.name, param: 'id' },
      removeUnreadable: (request) => administration.removeUnreadable(request),
      handle: (request) => administration.remove(request),
    }),
  ];
}
