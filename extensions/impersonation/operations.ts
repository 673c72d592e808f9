/** Impersonations as a resource of the admin API: lists, reads, and the end. */
import {
  defineOperation,
  type ExtensionContext,
  instant,
  type Operation,
  oneOf,
  pageOf,
  pageQuery,
  type Static,
  strict,
  Type,
} from '../../lib/extension-door.js';
import type { Lifecycle } from './lifecycle.js';
import { createImpersonationList } from './list.js';
import { ends, type ImpersonationRow } from './records.js';

const LIST = '/tenants/{tid}/impersonations';
const ONE = `${LIST}/{id}`;

const status = () => oneOf(['active', 'ended']);

const Impersonation = Type.Object(
  {
    id: Type.String(),
    status: status(),
    userId: Type.String({ description: 'Id of the impersonated user.' }),
    operator: Type.Object(
      { oid: Type.String(), sub: Type.String(), tid: Type.String() },
      { ...strict, description: 'The impersonator, as in the claim `act`.' },
    ),
    reason: Type.Optional(
      Type.String({ description: 'Reason that the impersonator gave. Absent after the impersonator or the impersonated user is erased.' }),
    ),
    clientId: Type.String({ description: 'Id of the client that the impersonation began for.' }),
    startedAt: instant('Time when the impersonation began'),
    endsAt: instant('Latest time when the impersonation ends'),
    endedAt: Type.Optional(instant('Time when the impersonation ended')),
    endedBy: Type.Optional(oneOf(ends)),
  },
  { $id: 'Impersonation', ...strict },
);

function viewAt(now: number, row: ImpersonationRow): Static<typeof Impersonation> {
  const { id, targetOid, operator, reason, clientId, startedAt, endsAt } = row;
  // An expired impersonation is shown as ended, even before the end is written.
  const isOver = endsAt.getTime() <= now;
  const { endedAt = isOver ? endsAt : undefined, endedBy = isOver ? ('time' as const) : undefined } = row;
  return {
    id,
    status: endedAt === undefined ? 'active' : 'ended',
    userId: targetOid,
    operator: { ...operator },
    ...(reason !== undefined && { reason }),
    clientId,
    startedAt: startedAt.toISOString(),
    endsAt: endsAt.toISOString(),
    ...(endedAt && { endedAt: endedAt.toISOString() }),
    ...(endedBy && { endedBy }),
  };
}

export function impersonationOperations(context: ExtensionContext, lifecycle: Lifecycle): readonly Operation[] {
  const list = createImpersonationList(context);
  const view = (row: ImpersonationRow) => viewAt(context.service.now(), row);
  return [
    defineOperation({
      method: 'GET',
      path: LIST,
      scope: 'idp.impersonations:read',
      summary: 'Lists impersonations of users of a tenant, newest first',
      query: pageQuery(
        { status: Type.Optional(status()), userId: Type.Optional(Type.String()), operatorId: Type.Optional(Type.String()) },
        ['startedAt', '-startedAt'],
      ),
      answer: pageOf(Impersonation),
      errors: ['invalid_cursor'],
      async handle({ params, query }) {
        const { items, ...rest } = await list(params.tid, query);
        return { ...rest, items: items.map(view) };
      },
    }),
    defineOperation({
      method: 'GET',
      path: ONE,
      scope: 'idp.impersonations:read',
      summary: 'Reads an impersonation',
      answer: Impersonation,
      handle: async ({ params }) => view(await lifecycle.require(params.tid, params.id)),
    }),
    defineOperation({
      method: 'POST',
      path: `${ONE}/end`,
      scope: 'idp.impersonations:write',
      summary: 'Ends an impersonation, its session and its tokens, unless the impersonation has ended already',
      answer: Impersonation,
      handle: async ({ params, by }) => view(await lifecycle.end(params.tid, params.id, 'administrator', by)),
    }),
  ];
}
