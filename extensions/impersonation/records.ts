/** Rows of impersonations. A row is written before the first token, and removed with events of the same age. */
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

/** A row belongs to the tenant of both users, because an operator impersonates by their own account in that tenant. */
const Impersonation = Type.Object(
  {
    targetOid: text(),
    targetPersonId: text(),
    /** Members of the claim `act`. */
    operator: Type.Object({ oid: text(), sub: text(), tid: text() }, strict),
    operatorPersonId: text(),
    /** Reason as the operator typed it. Absent after one of the two persons was erased. */
    reason: Type.Optional(text()),
    clientId: text(),
    startedAt: Type.Date(),
    endsAt: Type.Date(),
    endedAt: Type.Optional(Type.Date()),
    endedBy: Type.Optional(oneOf(ends)),
    /** Mark of a row whose sign-in has not ended yet. */
    open: Type.Optional(Type.Literal('yes')),
  },
  strict,
);
export type Impersonation = Static<typeof Impersonation>;
export type ImpersonationRow = ExtensionRow<Impersonation>;

type StoredImpersonation = Impersonation & { readonly id: string };

/** Returns the data of the events of an impersonation. */
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

/** Returns the ids of the events of a row, so that erasure finds the events and removes the reason. */
const eventIds = (id: string) => ({ started: uuidOf(`${id} started`), ended: uuidOf(`${id} ended`) });

/** Returns a UUID that is always the same for a text. @see RFC 9562 §5.8 */
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

/** Returns the row with its end. Returns the same object if the row has ended already. */
export const ended = <Row extends Impersonation>(row: Row, { by, at }: End): Row =>
  row.endedAt ? row : { ...row, endedAt: at, endedBy: by };

const PAGE = 100;

/** Returns the impersonations of a person, and the impersonations by the person. */
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

/** Ends impersonations that are active, and removes the reasons, because a reason is free text. Ids stay, as in all events. */
async function withoutReasons(rows: ExtensionRows<Impersonation>, { personId }: PersonRef, at: Date): Promise<void> {
  const waiting: (readonly [id: string, events: readonly string[]])[] = [];
  for (const { id, targetPersonId } of await ofPerson(rows, personId)) {
    const end: End = { at, by: targetPersonId === personId ? 'target' : 'permission' };
    // The row is read at the write, because another request may have ended the row since. Then the event of the end has the reason too.
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
    /** Rows whose end, or whose sign-in's end, is still due. */
    byOpen: { fields: ['open'], ofAllTenants: true },
    /** Rows that retention removes later. */
    byEnd: { fields: ['endedAt'], order: 'instant', ofAllTenants: true },
  },
  events: true,
  erase: withoutReasons,
  userRemoved: withoutReasons,
  async export(rows, { personId }, reader) {
    // The ids of the other person, and the reason that the impersonator typed, concern other persons.
    const ofOthers = ({ operator, targetOid, reason }: ImpersonationRow) =>
      reader === 'person' ? {} : { operator: operator.oid, user: targetOid, ...present({ reason }) };
    const exported = (row: ImpersonationRow) => ({
      id: row.id,
      ...(reader === 'person' && { isOfImpersonator: row.operatorPersonId === personId }),
      ...ofOthers(row),
      clientId: row.clientId,
      startedAt: row.startedAt.toISOString(),
      endsAt: row.endsAt.toISOString(),
      ...(row.endedAt ? { endedAt: row.endedAt.toISOString(), endedBy: row.endedBy } : {}),
    });
    return (await ofPerson(rows, personId)).map(exported);
  },
});
