/** Answers of providers: the callback forwards an answer to its sign-in, which reads the answer and offers the accounts. */
import { randomBytes } from 'node:crypto';
import type { Context } from 'koa';
import { type ExtensionContext, type Interaction, redirectByGet } from '../../lib/extension-door.js';
import { type AccountChoice, digestOf, REFUSED } from './account-choice.js';
import { CONNECT } from './identities-page.js';
import { type ConnectionLookup, isActive } from './lookup.js';
import type { Pages } from './pages.js';
import type { People } from './people/accounts.js';
import { labelOf } from './people/mapping.js';
import { type Connection, type SentRequest, type Stranger, sentRequests, strangers, usedAnswers } from './records.js';
import { RefusedAnswer, readAnswer, type Upstream } from './upstream/answer.js';
import type { Providers } from './upstream/provider.js';
import { callbackPath } from './upstream/request.js';

/** Parameters of an answer that are forwarded to the sign-in. */
const answered = ['code', 'state', 'iss', 'error'] as const;
/** Maximum bytes of the parameters. */
const MAX_BYTES = 16 * 1024;

interface AnswerParts {
  readonly context: ExtensionContext;
  readonly lookup: ConnectionLookup;
  readonly providers: Providers;
  readonly people: People;
  readonly pages: Pages;
  readonly choice: AccountChoice;
}

export class Answers {
  readonly #context: ExtensionContext;
  readonly #lookup: ConnectionLookup;
  readonly #providers: Providers;
  readonly #people: People;
  readonly #pages: Pages;
  readonly #choice: AccountChoice;

  constructor({ context, lookup, providers, people, pages, choice }: AnswerParts) {
    this.#context = context;
    this.#lookup = lookup;
    this.#providers = providers;
    this.#people = people;
    this.#pages = pages;
    this.#choice = choice;
  }

  /** Redirects the answer to the path of its sign-in, because the cookies of a sign-in are valid for that path alone. */
  async forward(ctx: Context): Promise<void> {
    const { http, service } = this.#context;
    const values = ctx.query.reference === undefined ? ctx.query : ((await http.postedForms.take(ctx)) ?? {});
    const sent = answered.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]] as const]));
    const texts = sent.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as [string, string]] : []));
    const parameters = new URLSearchParams(texts);
    const request = texts.length === sent.length ? await this.#requestOf(parameters) : undefined;
    if (!request || String(parameters).length > MAX_BYTES) return this.#pages.lost(ctx);
    const path = `${service.own}/interaction/${request.uid}/connections/${encodeURIComponent(idOf(ctx))}`;
    redirectByGet(ctx, service.url(`${path}?${parameters}`));
  }

  /** Stores an answer by `form_post`, and redirects the browser to {@link forward} by GET. */
  async forwardPosted(ctx: Context): Promise<void> {
    const { http, service } = this.#context;
    // A form for an unknown connection is not stored, because anybody can post it.
    if (!(await this.#lookup.get(idOf(ctx)))) return this.#pages.lost(ctx);
    await http.postedForms.sendOn(ctx, callbackPath(service.own, encodeURIComponent(idOf(ctx))), answered);
  }

  /** Reads the answer in its sign-in, and offers the accounts that the answer opens. */
  async take(ctx: Context): Promise<void> {
    // A sign-in of another browser is not loaded, so that nobody else can use its answer.
    const interaction = await this.#context.signIn.interactions.load(ctx);
    if (!interaction) return;
    const parameters = new URLSearchParams(ctx.querystring);
    const request = await this.#requestOf(parameters);
    const connection = await this.#lookup.get(request?.connectionId ?? idOf(ctx));
    let upstream: Upstream | undefined;
    try {
      if (request?.uid !== interaction.uid) throw new RefusedAnswer('over', 'the answer belongs to no request of this sign-in');
      if (request.connectionId !== idOf(ctx)) throw new RefusedAnswer('mixUp', 'the answer arrived at the address of another connection');
      if (!(await this.#spend(parameters))) throw new RefusedAnswer('over', 'the answer was used before');
      if (!isActive(connection)) throw new RefusedAnswer('failed', 'the connection was removed or disabled');
      upstream = await readAnswer(this.#context, this.#providers, connection, request, parameters);
      if (interaction.client.id === CONNECT) return await this.#connect(ctx, interaction, connection, upstream);
      const withoutClaims = request.withoutClaims === digestOf(upstream.subject);
      const openings = await this.#people.accountsOf(connection, upstream, interaction, withoutClaims);
      await this.#choice.offer(ctx, interaction, connection, upstream, openings);
    } catch (error) {
      if (!(error instanceof RefusedAnswer)) throw error;
      const isStranger = interaction.client.id !== CONNECT && (error.refusal === 'unknown' || error.refusal === 'taken');
      const stranger =
        isStranger && upstream && connection?.linkBySignIn ? await this.#keepStranger(interaction, connection, upstream) : undefined;
      await this.#refuse(ctx, interaction, connection ?? { id: idOf(ctx), name: idOf(ctx) }, error, stranger);
    }
  }

  /** Asks whether to connect the identity to the account in which the user asked for it. The identity signs in to no account here. */
  async #connect(ctx: Context, interaction: Interaction, connection: Connection, upstream: Upstream): Promise<void> {
    const stranger = await this.#keepStranger(interaction, connection, upstream);
    redirectByGet(ctx, this.#pages.stepUrl(interaction, `/connection/link?${new URLSearchParams({ stranger })}`));
  }

  async #refuse(
    ctx: Context,
    interaction: Interaction,
    connection: Pick<Connection, 'id' | 'name'>,
    { refusal, reason, cause }: RefusedAnswer,
    stranger: string | undefined,
  ): Promise<void> {
    const { http, service } = this.#context;
    const fields = { requestId: http.requestId(ctx), connection: connection.id, client: interaction.client.id };
    service.logger.info({ ...fields, refusal, reason, err: cause }, REFUSED);
    await this.#pages.refused(ctx, interaction, connection, refusal, stranger);
  }

  async #requestOf(parameters: URLSearchParams): Promise<SentRequest | undefined> {
    const state = parameters.get('state');
    return state ? ((await this.#context.records.artifact(sentRequests).read(state)) as SentRequest | undefined) : undefined;
  }

  /** Marks the answer as used. @returns false if the answer was used before */
  #spend(parameters: URLSearchParams): Promise<boolean> {
    return this.#context.records.artifact(usedAnswers).put(parameters.get('state') ?? '', true);
  }

  /** Stores the identity, so that the person can link it to an account of theirs. @returns the name of the identity in the form */
  async #keepStranger({ uid }: Interaction, { id, mapping }: Connection, upstream: Upstream): Promise<string> {
    const { subject, amr, provenAt, claims } = upstream;
    const name = randomBytes(24).toString('base64url');
    const stranger: Stranger = { uid, connectionId: id, subject, amr, provenAt, label: labelOf(mapping, claims, subject) };
    await this.#context.records.artifact(strangers).put(name, stranger);
    return name;
  }
}

const idOf = (ctx: Context): string => String(ctx.params.id);
