/** The pages of connections: refused sign-ins, choices of provider and account, and the linking of an identity. */
import type { Context } from 'koa';
import { type Account, accountName, type ExtensionContext, type Interaction, type View, type ViewPart } from '../../lib/extension-door.js';
import type { Connection } from './records.js';
import type { Refusal } from './upstream/answer.js';

/** Refusals that another account at the provider may avoid. */
const ofAnother: ReadonlySet<Refusal> = new Set([
  ...(['unknown', 'wrongTenant', 'unverified', 'addressMissing', 'taken', 'unavailable', 'unconfirmed'] as const),
]);

/** Value of the button “None of these is mine”. */
export const NONE = 'none';

export class Pages {
  readonly #context: ExtensionContext;

  constructor(context: ExtensionContext) {
    this.#context = context;
  }

  /** Returns the address of a step of the sign-in. */
  stepUrl({ uid }: Interaction, step: string): string {
    const { own, url } = this.#context.service;
    return url(`${own}/interaction/${uid}${step}`);
  }

  /** Shows why a sign-in was refused. @param stranger name of a stored identity, which the person can link to an account */
  async refused(
    ctx: Context,
    interaction: Interaction,
    connection: Pick<Connection, 'id' | 'name'>,
    refusal: Refusal,
    stranger?: string,
  ): Promise<void> {
    const { only } = await this.#context.signIn.interactions.ways(interaction);
    const values = { method: connection.name, place: await this.#placeOf(interaction), reference: this.#context.http.requestId(ctx) };
    const again = ofAnother.has(refusal) ? 'connections.another' : 'connections.again';
    const parts: readonly ViewPart[] = [
      ...(stranger === undefined
        ? []
        : ([
            { part: 'text', text: { key: 'connections.link.offer', values } },
            { part: 'button', text: 'connections.link.begin', name: 'step', value: 'link' },
          ] as const)),
      {
        part: 'button',
        text: { key: again, values },
        name: 'step',
        value: 'again',
        ...(stranger === undefined ? {} : { look: 'quiet' as const }),
      },
      ...(only === undefined
        ? [{ part: 'link', text: 'connections.others', href: this.stepUrl(interaction, '?restart=yes') } as const]
        : []),
      ...(refusal === 'cancelled' ? [] : [{ part: 'text', text: { key: 'connections.reference', values } } as const]),
    ];
    const page: View = {
      title: { key: `connections.${refusal}.title`, values },
      ...(refusal === 'cancelled' ? {} : { lead: { key: `connections.${refusal}.text`, values } }),
      status: refusal === 'cancelled' ? 200 : 400,
      interaction,
      form: {
        action: this.stepUrl(interaction, '/connection/again'),
        fields: { idp: connection.id, ...(ofAnother.has(refusal) ? { another: 'yes' } : {}), ...(stranger && { stranger }) },
      },
      parts,
    };
    await this.#context.pages.view(ctx, page);
  }

  /** Says that the answer belongs to no known sign-in. */
  async lost(ctx: Context): Promise<void> {
    await this.#context.pages.view(ctx, {
      title: 'connections.lost.title',
      lead: 'connections.lost.text',
      status: 400,
      parts: [{ part: 'text', text: { key: 'connections.reference', values: { reference: this.#context.http.requestId(ctx) } } }],
    });
  }

  async signedOut(ctx: Context): Promise<void> {
    const { pages, service } = this.#context;
    await pages.view(ctx, {
      title: 'connections.signedOut.title',
      lead: 'connections.signedOut.text',
      parts: [{ part: 'link', text: 'connections.signedOut.again', href: service.url(`${service.own}/account`), look: 'quiet' }],
    });
  }

  /** Asks at which of the providers to sign in. */
  async providers(ctx: Context, interaction: Interaction, all: readonly Connection[]): Promise<void> {
    const choices = all.map(({ id, name }) => ({ value: id, title: { plain: name } }));
    await this.#context.pages.view(ctx, {
      title: 'connections.methods.title',
      interaction,
      form: { action: this.stepUrl(interaction, '/method') },
      parts: [{ part: 'choices', name: 'idp', choices }],
    });
  }

  /**
   * Asks for one of the accounts that the identity opens. By choosing a claim, the person acknowledges the account. If all accounts are claims, the person
   * can reject them.
   * @param subject digest of the identity's subject, so that “None of these is mine” counts for that identity alone
   */
  async accounts(
    ctx: Context,
    interaction: Interaction,
    { id, name, subject }: Pick<Connection, 'id' | 'name'> & { readonly subject: string },
    all: readonly { readonly account: Account; readonly isClaim: boolean; readonly value: string }[],
  ): Promise<void> {
    const choices = all.map(({ account: { person, tenant, owner }, isClaim, value }) => ({
      value,
      title: { plain: tenant.name },
      lines: [
        { plain: accountName(person) },
        // An identity of the parent account opens a linked account, and the tenant of the parent account recorded this identity.
        ...(isClaim ? [{ key: 'connections.claims.line', values: { tenant: (owner?.tenant ?? tenant).name, method: name } }] : []),
      ],
    }));
    const areClaims = all.every(({ isClaim }) => isClaim);
    await this.#context.pages.view(ctx, {
      title: areClaims ? 'connections.claims.title' : 'connections.accounts.title',
      ...(areClaims && { lead: { key: 'connections.claims.lead', values: { method: name } } }),
      interaction,
      form: { action: this.stepUrl(interaction, '/connection/account'), fields: { idp: id, subject } },
      parts: [
        { part: 'choices', name: 'choice', choices },
        ...(areClaims ? [{ part: 'button', text: 'connections.claims.none', name: 'choice', value: NONE, look: 'quiet' } as const] : []),
      ],
    });
  }

  /** Asks whether to link the identity to the account. */
  async confirm(
    ctx: Context,
    interaction: Interaction,
    { name }: Pick<Connection, 'name'>,
    { account: { person, tenant }, label, stranger }: { readonly account: Account; readonly label: string; readonly stranger: string },
  ): Promise<void> {
    const values = { method: name, label, userName: person.user.userName, tenant: tenant.name };
    await this.#context.pages.view(ctx, {
      title: 'connections.link.title',
      lead: { key: 'connections.link.lead', values },
      interaction,
      form: { action: this.stepUrl(interaction, '/connection/link'), fields: { stranger, oid: person.user.id } },
      parts: [
        {
          part: 'list',
          items: [
            { key: 'connections.link.there', values },
            { key: 'connections.link.here', values },
          ],
        },
        { part: 'button', text: 'connections.link.submit' },
      ],
    });
  }

  async notLinked(ctx: Context, interaction: Interaction, { name }: Pick<Connection, 'name'>): Promise<void> {
    await this.#context.pages.view(ctx, {
      title: 'connections.link.refused',
      lead: { key: 'connections.link.refusedText', values: { method: name } },
      status: 400,
      interaction,
      parts: [{ part: 'link', text: 'connections.others', href: this.stepUrl(interaction, '?restart=yes') }],
    });
  }

  /** Returns the name of the tenant if the sign-in is for one tenant, else the name of the application. */
  async #placeOf({ tids = [], client }: Interaction): Promise<string> {
    const [only, ...others] = tids;
    const tenant = only !== undefined && others.length === 0 ? await this.#context.directory.tenants.get(only) : undefined;
    return tenant?.name ?? client.name;
  }
}
