/** What is kept of impersonations: a row each, from before there is a token until events of its age are removed. */
import { hash } from 'node:crypto';
import {
  type Attribution,
  defineCollection,
  type EventMap,
  type ExtensionRow,
  type ExtensionRows,
  type ImpersonationEnd,
  oneOf,
  type PersonRef,
  present,
  type RowEvent,
  type Static,
  strict,
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
    operator: Type.Object({ oid: text(), sub: text(), tid: text() }, strict),
    operatorPersonId: text(),
    /** As it was typed; absent once one of the two is erased. */
    reason: Type.Optional(text()),
    clientId: text(),
    startedAt: Type.Date(),
    endsAt: Type.Date(),
    endedAt: Type.Optional(Type.Date()),
    endedBy: Type.Optional(oneOf(ends)),
    /** Until its sign-in is gone. */
    open: Type.Optional(Type.Literal('yes')),
  },
  strict,
);
export type Impersonation = Static<typeof Impersonation>;
export type ImpersonationRow = ExtensionRow<Impersonation>;

type StoredImpersonation = Impersonation & { readonly id: string };

/** What the events of an impersonation tell. */
const eventData = ({
  id,
  targetOid,
  operator,
  reason,
  clientId,
  startedAt,
  endsAt,
}: StoredImpersonation): EventMap['ImpersonationStarted'] => ({
  AggregateId: targetOid,
  ImpersonationId: id,
  OperatorId: operator.oid,
  OperatorSub: operator.sub,
  OperatorTenantId: operator.tid,
  ...present({ Reason: reason }),
  ClientId: clientId,
  StartedAt: startedAt.toISOString(),
  EndsAt: endsAt.toISOString(),
});

/** Its events, by ids of their own: erasure takes the reason out of them. */
const eventIds = (id: string) => ({ started: uuidOf(`${id} started`), ended: uuidOf(`${id} ended`) });

/** A UUID that a text always has. @see RFC 9562 §5.8 */
export const uuidOf = (text: string): string =>
  hash('sha256', text, 'hex')
    .slice(0, 32)
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-8$3-8$4-$5');

export const startEvent = (row: StoredImpersonation, by: Attribution): RowEvent => ({
  id: eventIds(row.id).started,
  type: 'ImpersonationStarted',
  data: eventData(row),
  by,
});

export interface End {
  readonly by: ImpersonationEnd;
  readonly at: Date;
}

export const endEvent = (row: StoredImpersonation, end: End, by: Attribution): RowEvent => ({
  id: eventIds(row.id).ended,
  type: 'ImpersonationEnded',
  data: { ...eventData(row), EndedAt: end.at.toISOString(), EndedBy: end.by },
  by,
});

/** The row once it has ended; the very row where it had before. */
export const ended = <Row extends Impersonation>(row: Row, { by, at }: End): Row =>
  row.endedAt ? row : { ...row, endedAt: at, endedBy: by };

const PAGE = 100;

/** Impersonations of a person, and by the person. */
async function ofPerson(rows: ExtensionRows<Impersonation>, personId: string): Promise<readonly ImpersonationRow[]> {
  const all: ImpersonationRow[] = [];
  for (const index of ['byTarget', 'byOperator'])
    for (let last: ImpersonationRow | undefined; ; ) {
      const after = last && { value: last.startedAt, id: last.id };
      const page = await rows.range({ index, within: [personId], limit: PAGE, ...(after && { after }) });
      all.push(...page);
      last = page.at(-1);
      if (page.length < PAGE) break;
    }
  return all;
}

/** Ends what goes on, and takes the reason away: it is free text. Ids stay, as in all events. */
async function withoutReasons(rows: ExtensionRows<Impersonation>, { personId }: PersonRef, at: Date): Promise<void> {
  const waiting: (readonly [id: string, events: readonly string[]])[] = [];
  for (const { id, targetPersonId } of await ofPerson(rows, personId)) {
    const end: End = { at, by: targetPersonId === personId ? 'target' : 'permission' };
    // As it was when it was written: others may have ended it since it was found, and told the reason.
    let wasEnded = false;
    await rows.update(
      id,
      (row) => {
        wasEnded = row.endedAt !== undefined;
        if (row.reason === undefined && row.endedAt) return row;
        const { reason: _, ...rest } = ended(row, end);
        return rest;
      },
      ({ reason: _, ...row }) => (row.endedAt ? [] : [endEvent(row, end, {})]),
    );
    waiting.push([id, wasEnded ? [eventIds(id).started, eventIds(id).ended] : [eventIds(id).started]]);
  }
  for (const [id, events] of waiting) await rows.redact(id, events, ['Reason']);
}

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
  erase: withoutReasons,
  userRemoved: withoutReasons,
  async export(rows, { personId }) {
    const exported = ({ id, reason, clientId, startedAt, endsAt, endedAt, endedBy, operator, targetOid }: ImpersonationRow) => ({
      id,
      operator: operator.oid,
      user: targetOid,
      ...present({ reason }),
      clientId,
      startedAt: startedAt.toISOString(),
      endsAt: endsAt.toISOString(),
      ...(endedAt ? { endedAt: endedAt.toISOString(), endedBy } : {}),
    });
    return (await ofPerson(rows, personId)).map(exported);
  },
});
