/** What is kept of impersonations: a row each, from before there is a token until events of its age are removed. */
import {
  defineCollection,
  type ExtensionRow,
  type Impersonated,
  type ImpersonationEnd,
  type Static,
  Type,
} from '../../lib/extension-door.js';

const text = () => Type.String();
export const ends = [
  'operator',
  'time',
  'administrator',
  'sign-out',
  'permission',
  'target',
] as const satisfies readonly ImpersonationEnd[];

/** The row is of the tenant of both: an operator acts through their own account there. */
const Impersonation = Type.Object(
  {
    targetOid: text(),
    targetPersonId: text(),
    /** The claim `act`. */
    operator: Type.Object({ oid: text(), sub: text(), tid: text() }, { additionalProperties: false }),
    operatorPersonId: text(),
    /** As it was typed; absent once one of the two is erased. */
    reason: Type.Optional(text()),
    clientId: text(),
    startedAt: Type.Date(),
    endsAt: Type.Date(),
    /** Until it has ended. */
    open: Type.Optional(Type.Literal('yes')),
    endedAt: Type.Optional(Type.Date()),
    endedBy: Type.Optional(Type.Union(ends.map((end) => Type.Literal(end)))),
  },
  { additionalProperties: false },
);
export type Impersonation = Static<typeof Impersonation>;
export type ImpersonationRow = ExtensionRow<Impersonation>;

export const impersonations = defineCollection({
  name: 'impersonation.records',
  row: Impersonation,
  indexes: {
    byTarget: { fields: ['targetPersonId', 'startedAt'], order: 'instant' },
    byOperator: { fields: ['operatorPersonId', 'startedAt'], order: 'instant' },
    ofUser: { fields: ['targetOid', 'startedAt'], order: 'instant' },
    ofOperator: { fields: ['operator.oid', 'startedAt'], order: 'instant' },
    byStart: { fields: ['startedAt'], order: 'instant' },
    /** Those that may still have to be ended. */
    byOpen: { fields: ['open'], ofAllTenants: true },
    /** Those that are to be removed one day. */
    byEnd: { fields: ['endedAt'], order: 'instant', ofAllTenants: true },
  },
  events: true,
});

/** What the events of an impersonation tell. */
export const eventData = ({ id, targetOid, operator, reason, clientId, startedAt, endsAt }: ImpersonationRow): Impersonated => ({
  AggregateId: targetOid,
  ImpersonationId: id,
  OperatorId: operator.oid,
  OperatorSub: operator.sub,
  OperatorTenantId: operator.tid,
  ...(reason === undefined ? {} : { Reason: reason }),
  ClientId: clientId,
  StartedAt: startedAt.toISOString(),
  EndsAt: endsAt.toISOString(),
});
