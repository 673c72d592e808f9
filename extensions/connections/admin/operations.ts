/**
 * Connections as resources of the admin API, of a tenant and of the instance, and as records of a seed.
 *
 * `operations` and `seed` are the two ways in, and both write by `writes`. `rules` says what a connection has to be and completes it by its preset,
 * `schemas` which form it has, `domains` gives a domain to one connection. Nothing here speaks with a provider: `upstream/` does.
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
import type { ConnectionBook } from '../book.js';
import { type Connection, connections } from '../records.js';
import { signedOutPath } from '../upstream/logout.js';
import { callbackPath } from '../upstream/request.js';
import { type ConnectionSecrets, publicKeys } from '../upstream/secrets.js';
import { decidesWhoSignsIn, findUnconfirmedGroups } from '../vouchers.js';
import { checked, type Described, described, wrong } from './rules.js';
import { ConnectionItem, form, patch, secretForm } from './schemas.js';
import { createWrites, type Place, type Writer } from './writes.js';

export const errors = defineErrors({
  operator_required: {
    status: 403,
    description:
      'Only a client that administers all tenants chooses the id and the domains of a connection: leave them out, or use such a client.',
  },
  connection_privileged: {
    status: 403,
    description:
      'Users whom the connection could sign in, or accounts that are linked to them, may do more in the admin API than the caller: ask an administrator who may do as much.',
  },
});

interface Parts {
  readonly context: ExtensionContext;
  readonly book: ConnectionBook;
  readonly secrets: ConnectionSecrets;
}

type Request = OperationRequest<unknown, unknown, unknown>;

const read = { scope: 'idp.connections:read' } as const;
const write = { scope: 'idp.connections:write' } as const;

/** @see Operation */
const outsideTag = ['warnings'];

export const connectionOperations = (parts: Parts): readonly Operation[] =>
  ['/tenants/{tid}/connections', '/connections'].flatMap((path) => operationsAt(parts, path));

function operationsAt({ context, book, secrets }: Parts, path: string): readonly Operation[] {
  const {
    records: { collection, ofInstance },
    directory,
    service: { own, production, url },
  } = context;
  const writes = createWrites(context, book, secrets);
  const one = `${path}/{id}`;

  const placeOf = ({ params }: Request): Place => {
    const { tid = ofInstance, id = '' } = params as { readonly tid?: string; readonly id?: string };
    return { tid, id };
  };
  async function found(request: Request): Promise<Connection> {
    const { tid, id } = placeOf(request);
    const row = await collection(connections, tid).get(id);
    if (row === undefined) throw new IdpError('not_found');
    return row;
  }

  function view({
    tid: _,
    version: __,
    secret,
    keys,
    vouchedBy: ___,
    groupVouchers: ____,
    warnings: _____,
    ...row
  }: Connection): Static<typeof ConnectionItem> {
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

  /** The item with its warnings. Warnings are not part of the record, because warnings change when a provider or a group changes. */
  async function shown(row: Connection): Promise<Static<typeof ConnectionItem>> {
    const warnings = [...(row.warnings ?? []), ...(await findUnconfirmedGroups(context, row))];
    return { ...view(row), ...(warnings.length > 0 && { warnings }) };
  }

  const writerOf = async (request: Request): Promise<Writer> => ({
    by: request.by,
    vouchedBy: await request.directory.means.voucher(placeOf(request).tid),
  });

  /** Checks the caller, because a connection that the caller controls can sign in any user of the tenant. @throws IdpError `connection_privileged` */
  async function checkPrivileges(request: Request): Promise<void> {
    const { tid } = placeOf(request);
    if (!(await directory.privileges.mayBecomeAnyone(request.administrator, tid))) throw errors('connection_privileged');
  }

  /** Whose domain it is, only the operator has seen; and a name of one's own choice could be another tenant's. */
  function checkOperator(
    { administrator: { ofAllTenants } }: Request,
    { id, domains }: { id?: string; domains?: readonly string[] },
  ): void {
    if (!ofAllTenants && (id !== undefined || domains !== undefined)) throw errors('operator_required');
  }

  /** New users are of one tenant, and so are groups. @throws IdpError `invalid_record` */
  async function checkReferences({ tid }: Place, { createUsersIn, mapping }: Described): Promise<void> {
    if (createUsersIn !== undefined && tid !== ofInstance && createUsersIn !== tid)
      throw wrong('/createUsersIn', 'the tenant that the connection is of');
    if (createUsersIn !== undefined && !(await directory.tenants.get(createUsersIn))) throw wrong('/createUsersIn', 'a tenant that exists');
    if (mapping.groups === undefined) return;
    const owner = tid === ofInstance ? createUsersIn : tid;
    if (owner === undefined) throw wrong('/mapping/groups', 'createUsersIn as well, because groups are of a tenant');
    const ids = new Set((await directory.forTenant(owner).groups.find()).map(({ id }) => id));
    const unknown = mapping.groups.values.findIndex(({ groupId }) => !ids.has(groupId));
    if (unknown >= 0) throw wrong(`/mapping/groups/values/${unknown}/groupId`, 'a group of the tenant');
  }

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
      async handle(request) {
        checkOperator(request, request.body);
        await checkPrivileges(request);
        const place = { ...placeOf(request), id: request.body.id ?? request.newId() };
        const createdAt = await request.remember('createdAt', () => new Date(context.service.now()).toISOString());
        const known = request.isRetry ? await collection(connections, place.tid).get(place.id) : undefined;
        if (known?.createdAt === createdAt) return shown(known);
        const given = described(request.body, context);
        await checkReferences(place, given);
        return shown(await writes.create({ ...place, createdAt }, given, request.body.clientSecret, await writerOf(request)));
      },
    }),
    defineOperation({
      ...read,
      method: 'GET',
      path,
      summary: 'Lists connections',
      query: pageQuery({}, ['createdAt']),
      answer: pageOf(ConnectionItem),
      handle: (request) => pageOfRows(request.query, collection(connections, placeOf(request).tid).list, view),
    }),
    defineOperation({
      ...read,
      method: 'GET',
      path: one,
      summary: 'Reads a connection, without its secret',
      answer: ConnectionItem,
      outsideTag,
      handle: async (request) => shown(await found(request)),
    }),
    defineOperation({
      ...write,
      method: 'PATCH',
      path: one,
      summary: 'Changes a connection; its issuer stays, because identities are recorded for it',
      body: patch,
      answer: ConnectionItem,
      outsideTag,
      errors: ['conflict', 'operator_required', 'connection_privileged'],
      async handle(request) {
        checkOperator(request, request.body.domains === undefined ? {} : { domains: request.body.domains });
        if (decidesWhoSignsIn(request.body)) await checkPrivileges(request);
        const before = await found(request);
        request.checkMatch(view(before));
        const { createUsersIn = before.createUsersIn, ...members } = request.body;
        const { createUsersIn: _, ...rest } = { ...before, ...members };
        const next = { ...rest, ...(createUsersIn === null || createUsersIn === undefined ? {} : { createUsersIn }) };
        await checkReferences(placeOf(request), checked(next as Described, production));
        return shown(await writes.update(placeOf(request), request.body, await writerOf(request)));
      },
    }),
    defineOperation({
      ...write,
      method: 'PUT',
      path: `${one}/secret`,
      summary: 'Gives a connection the client secret that its provider issued',
      body: secretForm,
      answer: ConnectionItem,
      outsideTag,
      async handle(request) {
        await found(request);
        return shown(await writes.setSecret(placeOf(request), request.body.clientSecret, request.by));
      },
    }),
    defineOperation({
      ...write,
      method: 'POST',
      path: `${one}/rotate-key`,
      summary: 'Gives a connection with private_key_jwt a new key; the one before stays in its key set',
      answer: ConnectionItem,
      outsideTag,
      async handle(request) {
        await found(request);
        return shown(await writes.rotateKey(placeOf(request), request.by));
      },
    }),
    defineOperation({
      ...write,
      method: 'DELETE',
      path: one,
      summary: 'Removes a connection; identities that were recorded for it open nothing any more',
      record: { collection: connections.name, param: 'id' },
      removeUnreadable: (request) => writes.remove(placeOf(request), request.by),
      async handle(request) {
        request.checkMatch(view(await found(request)));
        await writes.remove(placeOf(request), request.by);
      },
    }),
  ];
}
