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
    userId: Type.String({ description: 'who is acted as' }),
    operator: Type.Object(
      { oid: Type.String(), sub: Type.String(), tid: Type.String() },
      { ...strict, description: 'who acts, as in the claim `act`' },
    ),
    reason: Type.Optional(Type.String({ description: 'as the operator gave it; absent once one of the two is erased' })),
    clientId: Type.String({ description: 'the application that it was begun for' }),
    startedAt: instant('when it began'),
    endsAt: instant('when it ends at the latest'),
    endedAt: Type.Optional(instant('when it ended')),
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
      summary: 'Lists who acts, or acted, as somebody of the tenant, the latest first',
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
      summary: 'Ends an impersonation, its session and its tokens; one that has ended stays as it ended',
      answer: Impersonation,
      handle: async ({ params, by }) => view(await lifecycle.end(params.tid, params.id, 'administrator', by)),
    }),
  ];
}
