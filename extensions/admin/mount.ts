/** Routes of operations: each checks token, scope, rate limit, tenant and schemas, and then calls the handler of the operation. */
import type Router from '@koa/router';
import {
  ADMIN_API,
  answerJson,
  answerProblem,
  type BearerState,
  type CallerState,
  type Context,
  type ExtensionContext,
  entityTagOf,
  IdpError,
  type Middleware,
  type MountedOperation,
  type OperationRequest,
  readablePage,
} from '../../lib/extension-door.js';
import { administratorOf, checkReach, countRequest } from './administrators.js';
import { errors, recordUnreadable, withPointers } from './errors.js';
import { createOnce, type Once, type Outcome } from './idempotency.js';
import { bodyOf, queryOf } from './input.js';
import { filled } from './resources/shape/forms.js';
import { explained, recordsOf, unreadableOf } from './unreadable.js';

/** Adds the routes of the operations, below the path of the API. */
export function operationRoutes(router: Router, context: ExtensionContext, base: string): void {
  const once = createOnce(context);
  const carried = createCarried(context);
  const operations = context.service.operations();
  for (const operation of operations) {
    const path = base + operation.path.replace(/\{(\w+)\}/g, ':$1');
    router.register(path, [operation.method], [
      context.http.bearer(ADMIN_API, operation.scope),
      run(context, operation, { once, carried, records: recordsOf(operation, operations) }, base),
    ] as never);
  }
}

interface Parts {
  readonly once: Once;
  readonly carried: Carried;
  /** Records that the path names. */
  readonly records: ReturnType<typeof recordsOf>;
}

function run(context: ExtensionContext, operation: MountedOperation, { once, carried, records }: Parts, base: string): Middleware {
  return async function runOperation(context_) {
    const ctx = context_ as Context;
    const { accessToken } = ctx.state as BearerState;
    (ctx.state as CallerState).caller = accessToken.client;
    const params = ctx.params as Readonly<Record<string, string>>;
    const administrator = await administratorOf(context, accessToken);
    await countRequest(context, administrator.actor);
    try {
      await checkReach(context, administrator, operation, params);
      const query = queryOf(ctx, operation);
      const body = await bodyOf(ctx, operation);
      const outcome = await once(ctx, administrator, body, async ({ once: writeOnce, ...attempt }) => {
        const by = { actor: administrator.actor, requestId: context.http.requestId(ctx), ...(writeOnce && { once: writeOnce }) };
        const directory = context.directory.as(by, administrator);
        const request = { params, query, body, administrator, by, directory, ...attempt, checkMatch: checkMatch(ctx), ctx };
        const answer = await handled(operation, request);
        const sent = carried(operation, answer);
        const { answer: schema, status = schema ? 200 : 204 } = operation;
        const location = locationOf(operation, answer, params);
        return { status, answer: schema && sent, location: location && context.service.url(base + location) };
      });
      send(ctx, operation, outcome);
    } catch (error) {
      throw withPointers(await explained(error, { administrator, directory: context.directory, params }, records));
    }
  };
}

/** Runs the operation. A removal that finds no readable record removes an unreadable one. */
async function handled(operation: MountedOperation, request: OperationRequest): Promise<unknown> {
  const { record, removeUnreadable } = operation;
  try {
    return await operation.handle(request as never);
  } catch (error) {
    if (!record || !removeUnreadable || !IdpError.is(error, 'not_found') || !(await unreadableOf(request, record))) throw error;
    request.checkMatch({});
    return removeUnreadable(request as never);
  }
}

/** Returns the path of a created record: as the operation states, or below the operation's own path. */
function locationOf(
  { path, status, location }: MountedOperation,
  answer: unknown,
  params: Readonly<Record<string, string>>,
): string | undefined {
  if (location) return location(answer as never, params);
  const { id } = (answer ?? {}) as { readonly id?: unknown };
  return status === 201 && typeof id === 'string' ? `${filled(path, params)}/${encodeURIComponent(id)}` : undefined;
}

/** Sends the answer. @throws IdpError for a stored refusal */
function send(ctx: Context, { outsideTag = [] }: MountedOperation, { status, answer, location, refusal }: Outcome): void {
  if (refusal) {
    const { code, details, description } = refusal;
    throw new IdpError(code as never, details, {}, { status, description });
  }
  ctx.status = status;
  if (location !== undefined) ctx.set('Location', location);
  if (answer === undefined) return;
  answerJson(ctx, answer as object);
  const ofRecord = Object.entries(answer as object).filter(([member]) => !outsideTag.includes(member));
  if (outsideTag.length > 0) ctx.set('ETag', entityTagOf(Object.fromEntries(ofRecord)));
}

/** Maximum left-out records that are remembered. Each record is logged once, until a list contains it again. */
const REMEMBERED = 10_000;

/** Returns the answer if it fits its schema, so that no other member of a record is sent. A list leaves out items that do not fit, and names them. */
type Carried = (operation: MountedOperation, answer: unknown) => unknown;

function createCarried({ service: { logger } }: ExtensionContext): Carried {
  /** Problems that were logged, by list and record. */
  const logged = new Map<string, string>();
  const forget = (path: string, page: unknown): void => {
    const { items } = (page ?? {}) as { readonly items?: readonly ListedItem[] };
    if (logged.size > 0 && Array.isArray(items))
      for (const { id, personId } of items as readonly ListedItem[]) for (const one of [id, personId]) logged.delete(keyOf(path, one));
  };
  return ({ method, path, record, answer: schema }, answer) => {
    const error = schema && answerProblem(schema, answer);
    if (!error) forget(path, answer);
    if (!error) return answer;
    const readable = method === 'GET' ? readablePage(schema, answer) : undefined;
    // A member that was not written may be malformed after a change too.
    if (!readable && record && method !== 'POST') throw recordUnreadable({ ...error });
    if (!readable)
      throw new TypeError(`The answer of ${method} ${path} does not match its schema at ${error.path || '/'}. Return ${error.expected}.`);
    forget(path, readable.page);
    const unknown = readable.leftOut.filter((row) => logged.get(keyOf(path, row.id)) !== row.path && logged.size < REMEMBERED);
    for (const row of unknown) logged.set(keyOf(path, row.id), row.path);
    if (unknown.length > 0) logger.error({ path, unreadable: unknown }, 'a list left out records that do not match its schema');
    return readable.page;
  };
}

/** An item of a list. A user who is left out is named by the id of its person. */
interface ListedItem {
  readonly id?: string;
  readonly personId?: string;
}

const keyOf = (list: string, id = ''): string => JSON.stringify([list, id.slice(0, 200)]);

/** @see RFC 9110 §13.1.1 */
const checkMatch = (ctx: Context) => (answer: unknown) => {
  const condition = ctx.get('If-Match').trim();
  if (condition === '' || condition === '*') return;
  const tag = entityTagOf(answer as object);
  if (!condition.split(',').some((each) => each.trim() === tag)) throw errors('precondition_failed');
};
