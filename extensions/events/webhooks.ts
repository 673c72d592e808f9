/** Webhooks as resources of the admin API: of a tenant, and of the instance. */
import {
  canParseUrl,
  defineOperation,
  type ExtensionContext,
  IdpError,
  isHttpsOrLocal,
  type Operation,
  pageOf,
  pageOfRows,
  pageQuery,
  present,
  type Static,
} from '../../lib/extension-door.js';
import type { Attempt } from './attempt.js';
import { deliveryOperationsAt } from './deliveries.js';
import { deadLetters, positions, type WebhookFields, type WebhookRow, webhooks } from './records.js';
import { form, patch, Webhook, WebhookWithSecret } from './schemas.js';
import type { Secrets } from './secrets.js';
import { newWebhookSecret } from './signature.js';
import { paramsOf, type Request, read, webhooksOf, write } from './webhook-requests.js';

/** Webhooks of a tenant. Each event of the tenant is posted to all of them. */
const MOST = 20;
const tooMany = () => new IdpError('invalid_record', { path: '', expected: `a tenant with fewer than ${MOST} webhooks: remove one first` });

export const webhookOperations = (context: ExtensionContext, secrets: Secrets, attempt: Attempt): readonly Operation[] => [
  ...['/tenants/{tid}/webhooks', '/webhooks'].flatMap((path) => [
    ...operationsAt(context, secrets, path),
    ...deliveryOperationsAt(context, attempt, path),
  ]),
];

function operationsAt(context: ExtensionContext, secrets: Secrets, path: string): readonly Operation[] {
  const one = `${path}/{id}`;
  const { found, rowsOf } = webhooksOf(context);
  const eventTypes: ReadonlySet<string> = new Set(context.work.eventTypes);

  async function view({ id, tid, version: _, secrets: __, from, ...shown }: WebhookRow): Promise<Static<typeof Webhook>> {
    const position = await context.records.collection(positions, tid).get(id);
    const { attempts, failingSince, problem } = position ?? {};
    return {
      ...shown,
      id,
      position: position?.after ?? from,
      ...(attempts ? { attempts } : {}),
      ...present({ failingSince, problem }),
    };
  }

  function checkUrl(given: string): void {
    const parsed = canParseUrl(given) ? new URL(given) : undefined;
    const isRight = parsed !== undefined && isHttpsOrLocal(parsed, context.service.production);
    if (!isRight || parsed.username || parsed.password || parsed.hash)
      throw new IdpError('invalid_record', { path: '/url', expected: 'an https URL without credentials and fragment' });
    const expected = context.http.fetchProblem(given);
    if (expected !== undefined) throw new IdpError('invalid_record', { path: '/url', expected });
  }

  /** A stored type that no event has any more stays. */
  function checkTypes(types: readonly string[] | null | undefined): void {
    const index = types?.findIndex((type) => !eventTypes.has(type)) ?? -1;
    if (index >= 0)
      throw new IdpError('invalid_record', { path: `/types/${index}`, expected: 'the type of an event that this service raises' });
  }

  /** @param more webhooks that are about to be created */
  const isTooMany = async (request: Request, more = 0): Promise<boolean> =>
    paramsOf(request).tid !== undefined && (await rowsOf(request).list({ limit: MOST + 1 })).length + more > MOST;

  const change = (
    request: Request,
    next: (row: WebhookRow) => WebhookFields | WebhookRow,
    type: 'WebhookUpdated' | 'WebhookSecretAdded',
  ) => {
    const { id } = paramsOf(request);
    return rowsOf(request).update(id, next, [{ type, data: { AggregateId: id }, by: request.by }]);
  };

  async function remove(request: Request): Promise<void> {
    const { id, tid = context.records.ofInstance } = paramsOf(request);
    await rowsOf(request).remove(id, [{ type: 'WebhookRemoved', data: { AggregateId: id }, by: request.by }]);
    await context.records.collection(positions, tid).remove(id).catch(IdpError.unless('not_found'));
    const letters = context.records.collection(deadLetters, tid);
    for (const letter of await letters.find('byWebhook', [id])) await letters.remove(letter.id).catch(IdpError.unless('not_found'));
  }

  return [
    defineOperation({
      ...write,
      method: 'POST',
      path,
      summary: 'Creates a webhook, which gets the events from now on',
      body: form,
      answer: WebhookWithSecret,
      status: 201,
      async handle(request) {
        checkUrl(request.body.url);
        checkTypes(request.body.types);
        const id = request.newId();
        const made = secrets.make(id);
        const now = new Date(context.service.now()).toISOString();
        const fields = { ...request.body, status: 'active' as const, secrets: [made.sealed], createdAt: now, updatedAt: now };
        const known = request.isRetry ? await rowsOf(request).get(id) : undefined;
        if (known) return { ...(await view(known)), secret: secrets.open(known)[0] as string };
        const from = await context.directory.eventFeed.head();
        const event = { type: 'WebhookCreated' as const, data: { AggregateId: id }, by: request.by };
        if (await isTooMany(request, 1)) throw tooMany();
        const row = await rowsOf(request).insert({ ...fields, from }, { id, events: [event] });
        // If two webhooks are created at the same time, at least one request sees the other webhook.
        if (await isTooMany(request)) {
          await rowsOf(request).remove(id, [{ type: 'WebhookRemoved', data: { AggregateId: id }, by: request.by }]);
          throw tooMany();
        }
        return { ...(await view(row)), secret: made.secret };
      },
    }),
    defineOperation({
      ...read,
      method: 'GET',
      path,
      summary: 'Lists webhooks',
      query: pageQuery({}, ['createdAt']),
      answer: pageOf(Webhook),
      handle: (request) => pageOfRows(request.query, rowsOf(request).list, view),
    }),
    defineOperation({
      ...read,
      method: 'GET',
      path: one,
      summary: 'Reads a webhook',
      answer: Webhook,
      handle: async (request) => view(await found(request)),
    }),
    defineOperation({
      ...write,
      method: 'PATCH',
      path: one,
      summary: 'Changes a webhook; one that was switched off goes on where it was',
      body: patch,
      answer: Webhook,
      async handle(request) {
        const { url: nextUrl, status: nextStatus, description: nextDescription, types: nextTypes } = request.body;
        if (nextUrl !== undefined) checkUrl(nextUrl);
        checkTypes(nextTypes);
        const before = await found(request);
        request.checkMatch(await view(before));
        const row = await change(
          request,
          ({ reason, description: oldDescription, types: oldTypes, ...row }) => {
            const text = nextDescription === undefined ? oldDescription : (nextDescription ?? undefined);
            const list = nextTypes === undefined ? oldTypes : (nextTypes ?? undefined);
            const switched = nextStatus ?? row.status;
            return {
              ...row,
              ...present({ url: nextUrl }),
              status: switched,
              ...present({ description: text, types: list }),
              ...(reason === undefined || nextStatus !== undefined ? {} : { reason }),
              updatedAt: new Date(context.service.now()).toISOString(),
            };
          },
          'WebhookUpdated',
        );
        return view(row);
      },
    }),
    defineOperation({
      ...write,
      method: 'DELETE',
      path: one,
      summary: 'Removes a webhook, and what could not be delivered to it',
      record: { collection: webhooks.name, param: 'id' },
      removeUnreadable: remove,
      async handle(request) {
        request.checkMatch(await view(await found(request)));
        await remove(request);
      },
    }),
    defineOperation({
      ...write,
      method: 'POST',
      path: `${one}/rotate-secret`,
      summary: 'Gives a webhook a new secret; the one before signs as well until the next rotation',
      answer: WebhookWithSecret,
      async handle(request) {
        const { id } = await found(request);
        const { secret, sealed } = secrets.make(id, await request.remember('secret', newWebhookSecret));
        const next = (row: WebhookRow) => ({
          ...row,
          secrets: [sealed, ...row.secrets.slice(0, 1)],
          updatedAt: new Date(context.service.now()).toISOString(),
        });
        return { ...(await view(await change(request, next, 'WebhookSecretAdded'))), secret };
      },
    }),
  ];
}
