/** The pull feed of events. */
import { defineOperation, type OperationRequest, pageOf, present, strict, Type } from '../../lib/extension-door.js';

/** @see CloudEvents 1.0 §3 */
export const Event = Type.Object(
  {
    specversion: Type.Literal('1.0'),
    id: Type.String(),
    source: Type.String(),
    type: Type.String(),
    time: Type.String(),
    subject: Type.String(),
    tid: Type.Optional(Type.String()),
    actor: Type.Optional(Type.String()),
    act: Type.Optional(Type.String()),
    requestid: Type.Optional(Type.String()),
    sequence: Type.String({ pattern: '^\\d{16}$', description: 'Position in the order of all events.' }),
    data: Type.Record(Type.String(), Type.Unknown()),
  },
  { $id: 'Event', additionalProperties: false },
);

const query = Type.Object(
  {
    type: Type.Optional(
      Type.String({ pattern: '^[A-Z][A-Za-z]*(,[A-Z][A-Za-z]*){0,19}$', description: 'Types of events, separated by commas.' }),
    ),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
    after: Type.Optional(Type.String({ pattern: '^\\d{16}$', description: '`next` of the previous page, or the `sequence` of an event.' })),
  },
  strict,
);

interface FeedQuery {
  readonly after?: string;
  readonly limit?: number;
  readonly type?: string;
}

async function page({ directory }: Pick<OperationRequest, 'directory'>, { after, limit = 50, type }: FeedQuery, tid?: string) {
  const { events, ...rest } = await directory.eventFeed.read({
    limit,
    ...present({ after, tid }),
    ...(type === undefined ? {} : { types: type.split(',') }),
  });
  return { ...rest, items: events.map((event) => ({ ...event, data: { ...event.data } })) };
}

const common = { method: 'GET', scope: 'idp.events:read', query, answer: pageOf(Event), errors: ['cursor_expired'] } as const;

export const feed = [
  defineOperation({
    ...common,
    path: '/tenants/{tid}/events',
    summary: 'Reads the events of a tenant in order',
    handle: (request) => page(request, request.query, request.params.tid),
  }),
  defineOperation({
    ...common,
    path: '/events',
    summary: 'Reads all events in order',
    handle: (request) => page(request, request.query),
  }),
];
