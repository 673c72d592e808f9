/** The choice between the accounts that an identity opens, and the sign-in to one of them. */
import { createHash } from 'node:crypto';
import type { Context } from 'koa';
import { type ExtensionContext, formField, type Interaction, present, redirectByGet } from '../../lib/extension-door.js';
import { type ConnectionLookup, isActive } from './lookup.js';
import type { ConnectionMethod } from './method.js';
import { NONE, type Pages } from './pages.js';
import type { People } from './people/accounts.js';
import type { Opening } from './people/openings.js';
import type { Connection } from './records.js';
import type { Upstream } from './upstream/answer.js';

/** Log message of a refused sign-in. */
export const REFUSED = 'sign-in by a connection refused';

/** Proof of the answer, as far as a form carries it. */
type Proven = Pick<Upstream, 'amr' | 'provenAt'>;

interface ChoiceParts {
  readonly context: ExtensionContext;
  readonly lookup: ConnectionLookup;
  readonly people: People;
  readonly pages: Pages;
  readonly method: ConnectionMethod;
}

export class AccountChoice {
  readonly #context: ExtensionContext;
  readonly #lookup: ConnectionLookup;
  readonly #people: People;
  readonly #pages: Pages;
  readonly #method: ConnectionMethod;

  constructor({ context, lookup, people, pages, method }: ChoiceParts) {
    this.#context = context;
    this.#lookup = lookup;
    this.#people = people;
    this.#pages = pages;
    this.#method = method;
  }

  /** Signs in to the account if it is the only account and not a claim. Otherwise asks which account to sign in to. */
  async offer(
    ctx: Context,
    interaction: Interaction,
    connection: Connection,
    proven: Upstream,
    openings: readonly Opening[],
  ): Promise<void> {
    const { id, name } = connection;
    const [only, ...others] = openings;
    if (only && others.length === 0 && !only.isClaim) return this.signIn(ctx, interaction, connection, proven, only);
    const choices = await Promise.all(
      openings.map(async (opening) => {
        const { account, identity, isClaim } = opening;
        const token = this.#context.http.csrf.token(ctx, await this.#tokenText(interaction, proven, opening));
        const value = [account.person.user.id, id, digestOf(identity.subject), proven.amr.join('+'), proven.provenAt, token].join(' ');
        return { account, isClaim, value };
      }),
    );
    await this.#pages.accounts(ctx, interaction, { id, name, subject: digestOf(proven.subject) }, choices);
  }

  /** Evaluates the form of the page with the accounts. */
  async take(ctx: Context, interaction: Interaction): Promise<void> {
    const [oid = '', idp = '', digest = '', amr = '', provenAt = '', token] = formField(ctx, 'choice').split(' ');
    const connection = await this.#lookup.get(oid === NONE ? formField(ctx, 'idp') : idp);
    if (oid === NONE && isActive(connection)) {
      const subject = formField(ctx, 'subject');
      return this.#method.send(ctx, interaction, connection, isDigest(subject) ? { withoutClaims: subject } : {});
    }
    const account = /^\d{1,15}$/.test(provenAt) ? await this.#context.directory.accounts.findByOid(oid) : undefined;
    const proven: Proven = { amr: amr.split('+'), provenAt: Number(provenAt) };
    // The identity may have been removed since the page was shown.
    const openings = account && isActive(connection) ? this.#people.openingsOf(connection, account, interaction) : [];
    const opening = openings.find(({ identity }) => digestOf(identity.subject) === digest);
    // The person may have acknowledged the account in another tab since.
    const asShown = opening ? [opening, { ...opening, isClaim: true }] : [];
    const texts = await Promise.all(asShown.map((one) => this.#tokenText(interaction, proven, one)));
    const isOurs = texts.some((text) => this.#context.http.csrf.check(ctx, text, token));
    if (!isActive(connection) || !opening || !isOurs) return redirectByGet(ctx, this.#pages.stepUrl(interaction, '?restart=yes'));
    if (!(await this.#people.opens(opening))) return this.#pages.refused(ctx, interaction, connection, 'unconfirmed');
    const chosen = opening.isClaim ? await this.#people.acknowledge(connection, opening) : opening.account;
    if (!chosen) return redirectByGet(ctx, this.#pages.stepUrl(interaction, '?restart=yes'));
    await this.signIn(ctx, interaction, connection, proven, { ...opening, account: chosen });
  }

  /** Signs in to the account that an identity opens, or shows why the sign-in is refused. */
  async signIn(
    ctx: Context,
    interaction: Interaction,
    connection: Connection,
    { amr, provenAt }: Proven,
    { account, identity, heldTo }: Pick<Opening, 'account' | 'identity' | 'heldTo'>,
  ): Promise<void> {
    const { directory, http, records, service, signIn } = this.#context;
    // A permission may have been granted since the answer.
    if (!(await this.#people.opens({ account, identity }))) return this.#pages.refused(ctx, interaction, connection, 'unconfirmed');
    const proof = await directory.credentials.proofOf(account, new Date(provenAt));
    const target = await signIn.interactions.signIn(ctx, interaction, {
      oid: account.person.user.id,
      amr,
      idp: connection.id,
      used: identity.subject,
      // Other tenants do not trust a second factor of this tenant's provider.
      ...(connection.tid === records.ofInstance ? {} : { mfaIn: connection.tid }),
      ...present({ heldTo }),
      proof,
    });
    if (target !== undefined) return redirectByGet(ctx, target);
    const fields = { requestId: http.requestId(ctx), connection: connection.id, client: interaction.client.id };
    service.logger.info({ ...fields, reason: 'the account does not accept this sign-in' }, REFUSED);
    await this.#pages.refused(ctx, interaction, connection, 'wrongTenant');
  }

  /** Returns the text that the token of a choice signs. The choice is valid while the proof is valid. “Sign out everywhere” ends the proof. */
  async #tokenText({ uid }: Interaction, { amr, provenAt }: Proven, { account, identity, isClaim }: Opening): Promise<string> {
    const { at, credentials } = await this.#context.directory.credentials.proofOf(account, new Date(provenAt));
    const kind = isClaim ? 'claim' : 'known';
    const { idp, subject } = identity;
    return `connection ${uid} ${idp} ${digestOf(subject)} ${kind} ${amr.join('+')} ${provenAt} ${account.person.user.id} ${at} ${credentials}`;
  }
}

/** Returns the digest that names a subject in a form, because a subject may be long. */
export const digestOf = (subject: string): string => createHash('sha256').update(subject).digest('base64url');
const isDigest = (text: string): boolean => /^[\w-]{43}$/.test(text);
