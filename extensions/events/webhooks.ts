/** Operations on webhooks in the admin API: webhooks of a tenant, and of the instance. */
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

/** Maximum webhooks of a tenant, because each event of the tenant is posted to all of them. */
const MOST = 20;
const tooMany = () => new IdpError('invalid_record', { path: '', expected: `a tenant with fewer than ${MOST} webhooks: remove one first` });

export const webhookOperations = (context: ExtensionContext, secrets: Secrets, attempt: Attempt): readonly Operation[] => [
  ...['/tenants/{tid}/webhooks', '/webhooks'].flatMap((path) => [
    ...operationsAt(context, secrets, path),
    ...deliveryOperationsAt(context, attempt, path),
  ]),
];

type Answer = Static<typeof Webhook>;
type AnswerWithSecret = Static<typeof WebhookWithSecret>;

/** Handlers of the operations, for webhooks of a tenant and of the instance. */
class WebhookAdministration {
  readonly #context: ExtensionContext;
  readonly #secrets: Secrets;
  readonly #eventTypes: ReadonlySet<string>;
  readonly rowsOf: ReturnType<typeof webhooksOf>['rowsOf'];
  readonly require: ReturnType<typeof webhooksOf>['require'];

  constructor(context: ExtensionContext, secrets: Secrets) {
    this.#context = context;
    this.#secrets = secrets;
    this.#eventTypes = new Set(context.work.eventTypes);
    ({ rowsOf: this.rowsOf, require: this.require } = webhooksOf(context));
  }

  async view({ id, tid, version: _, secrets: __, from, ...shown }: WebhookRow): Promise<Answer> {
    const position = await this.#context.records.collection(positions, tid).get(id);
    const { attempts, failingSince, problem } = position ?? {};
    return {
      ...shown,
      id,
      position: position?.after ?? from,
      ...(attempts ? { attempts } : {}),
      ...present({ failingSince, problem }),
    };
  }

  async create(request: Request & { readonly body: Static<typeof form> }): Promise<AnswerWithSecret> {
    const { body, by } = request;
    this.#checkUrl(body.url);
    this.#checkTypes(body.types);
    const id = request.newId();
    const made = this.#secrets.make(id);
    const now = this.#now();
    const before = request.isRetry ? await this.rowsOf(request).get(id) : undefined;
    if (before) return { ...(await this.view(before)), secret: this.#secrets.open(before)[0] as string };
    const from = await this.#context.directory.eventFeed.head();
    if (await this.#isTooMany(request, 1)) throw tooMany();
    const fields = { ...body, status: 'active' as const, secrets: [made.sealed], createdAt: now, updatedAt: now, from };
    const row = await this.rowsOf(request).insert(fields, { id, events: [{ type: 'WebhookCreated', data: { AggregateId: id }, by }] });
    // If two webhooks are created at the same time, at least one request sees the other webhook.
    if (await this.#isTooMany(request)) {
      await this.rowsOf(request).remove(id, [{ type: 'WebhookRemoved', data: { AggregateId: id }, by }]);
      throw tooMany();
    }
    return { ...(await this.view(row)), secret: made.secret };
  }

  async change(request: Request & { readonly body: Static<typeof patch> }): Promise<Answer> {
    const { url, status, description, types } = request.body;
    if (url !== undefined) this.#checkUrl(url);
    this.#checkTypes(types);
    request.checkMatch(await this.view(await this.require(request)));
    const next = ({ reason, description: oldDescription, types: oldTypes, ...row }: WebhookRow): WebhookFields => ({
      ...row,
      ...present({
        url,
        description: description === undefined ? oldDescription : (description ?? undefined),
        types: types === undefined ? oldTypes : (types ?? undefined),
        reason: status === undefined ? reason : undefined,
      }),
      status: status ?? row.status,
      updatedAt: this.#now(),
    });
    return this.view(await this.#write(request, next, 'WebhookUpdated'));
  }

  async remove(request: Request): Promise<void> {
    const { records } = this.#context;
    const { id, tid = records.ofInstance } = paramsOf(request);
    await this.rowsOf(request).remove(id, [{ type: 'WebhookRemoved', data: { AggregateId: id }, by: request.by }]);
    await records.collection(positions, tid).remove(id).catch(IdpError.unless('not_found'));
    const letters = records.collection(deadLetters, tid);
    for (const letter of await letters.find('byWebhook', [id])) await letters.remove(letter.id).catch(IdpError.unless('not_found'));
  }

  async rotateSecret(request: Request): Promise<AnswerWithSecret> {
    const { id } = await this.require(request);
    const { secret, sealed } = this.#secrets.make(id, await request.remember('secret', newWebhookSecret));
    const next = (row: WebhookRow) => ({ ...row, secrets: [sealed, ...row.secrets.slice(0, 1)], updatedAt: this.#now() });
    return { ...(await this.view(await this.#write(request, next, 'WebhookSecretAdded'))), secret };
  }

  #now(): string {
    return new Date(this.#context.service.now()).toISOString();
  }

  #write(
    request: Request,
    next: (row: WebhookRow) => WebhookFields | WebhookRow,
    type: 'WebhookUpdated' | 'WebhookSecretAdded',
  ): Promise<WebhookRow> {
    const { id } = paramsOf(request);
    return this.rowsOf(request).update(id, next, [{ type, data: { AggregateId: id }, by: request.by }]);
  }

  #checkUrl(given: string): void {
    const { http, service } = this.#context;
    const parsed = canParseUrl(given) ? new URL(given) : undefined;
    const isRight = parsed !== undefined && isHttpsOrLocal(parsed, service.production);
    if (!isRight || parsed.username || parsed.password || parsed.hash)
      throw new IdpError('invalid_record', { path: '/url', expected: 'an https URL without credentials and fragment' });
    const expected = http.fetchProblem(given);
    if (expected !== undefined) throw new IdpError('invalid_record', { path: '/url', expected });
  }

  /** Checks the types of a request. A stored type that no longer exists stays. */
  #checkTypes(types: readonly string[] | null | undefined): void {
    const index = types?.findIndex((type) => !this.#eventTypes.has(type)) ?? -1;
    if (index >= 0)
      throw new IdpError('invalid_record', { path: `/types/${index}`, expected: 'the type of an event that this service raises' });
  }

  /** Returns whether the tenant has too many webhooks. @param more webhooks that are about to be created */
  async #isTooMany(request: Request, more = 0): Promise<boolean> {
    return paramsOf(request).tid !== undefined && (await this.rowsOf(request).list({ limit: MOST + 1 })).length + more > MOST;
  }
}

function operationsAt(context: ExtensionContext, secrets: Secrets, path: string): readonly Operation[] {
  const one = `${path}/{id}`;
  const webhookRows = new WebhookAdministration(context, secrets);
  return [
    defineOperation({
      ...write,
      method: 'POST',
      path,
      summary: 'Creates a webhook, which gets events from now on',
      body: form,
      answer: WebhookWithSecret,
      status: 201,
      handle: (request) => webhookRows.create(request),
    }),
    defineOperation({
      ...read,
      method: 'GET',
      path,
      summary: 'Lists webhooks',
      query: pageQuery({}, ['createdAt']),
      answer: pageOf(Webhook),
      handle: (request) => pageOfRows(request.query, webhookRows.rowsOf(request).list, (row) => webhookRows.view(row)),
    }),
    defineOperation({
      ...read,
      method: 'GET',
      path: one,
      summary: 'Reads a webhook',
      answer: Webhook,
      handle: async (request) => webhookRows.view(await webhookRows.require(request)),
    }),
    defineOperation({
      ...write,
      method: 'PATCH',
      path: one,
      summary: 'Changes a webhook, which continues at its former position when it is enabled again',
      body: patch,
      answer: Webhook,
      handle: (request) => webhookRows.change(request),
    }),
    defineOperation({
      ...write,
      method: 'DELETE',
      path: one,
      summary: 'Removes a webhook, and its undelivered events',
      record: { collection: webhooks.name, param: 'id' },
      removeUnreadable: (request) => webhookRows.remove(request),
      async handle(request) {
        request.checkMatch(await webhookRows.view(await webhookRows.require(request)));
        await webhookRows.remove(request);
      },
    }),
    defineOperation({
      ...write,
      method: 'POST',
      path: `${one}/rotate-secret`,
      summary: 'Creates a new secret for a webhook, and signs with the previous secret too until the next rotation',
      answer: WebhookWithSecret,
      handle: (request) => webhookRows.rotateSecret(request),
    }),
  ];
}
