/** Pages of an invitation. */
import type { Context } from 'koa';
import {
  type Account,
  type ArtifactKind,
  accountName,
  type Client,
  type ExtensionContext,
  type InvitationState,
  type LinkRef,
  type OpenedInvitation,
  present,
  shownName,
  type Tenant,
  type Text,
  type View,
  type ViewPart,
} from '../../lib/extension-door.js';

/** Browsers that continued with an invitation link. The next steps of these browsers do not need the invitation link, so no URL contains it. */
export const admissionKind: ArtifactKind = { name: 'invitations.admitted', lifetimeSeconds: 1800 };
/** Browsers that accepted an invitation recently. A form that one of these browsers sends twice gets the same answer. */
export const acceptanceKind: ArtifactKind = { name: 'invitations.accepted', lifetimeSeconds: 600 };

/** Texts about passwords that are long enough and break another rule, by rule. */
export const passwordProblems: Readonly<Record<string, string>> = { weak: 'invitations.accept.easy', leaked: 'invitations.accept.leaked' };

/** Returns the name of an invitation link in forms and URLs. The invitation link itself also has a secret. */
export const linkNameOf = ({ id, serial }: LinkRef): string => `${id}.${serial}`;

const pattern = /^([\da-f-]{36})\.([1-9]\d{0,8})$/;
/** Returns the invitation link that {@link linkNameOf} named. */
export function linkRefOf(name: string): LinkRef | undefined {
  const [, id, serial] = pattern.exec(name) ?? [];
  return id === undefined ? undefined : { id, serial: Number(serial) };
}

/** A user who is signed in in a browser that opens the invitation of another user. */
export interface OtherUser {
  readonly oid: string;
  /** Name of the user. Absent if the sign-in is incomplete. */
  readonly name?: string;
}

const statusOf: Readonly<Record<Exclude<InvitationState, 'pending'>, number>> = {
  accepted: 410,
  revoked: 410,
  replaced: 410,
  expired: 410,
  unavailable: 503,
  unconfirmed: 403,
};

/** Reasons why a personal account cannot be linked. */
export type Refusal = 'sameTenant' | 'policy' | 'other';

export interface FormPage {
  readonly action: string;
  readonly other?: OtherUser | undefined;
  readonly problem?: Text;
  readonly status?: number;
}

export class Pages {
  readonly #pages: ExtensionContext['pages'];

  constructor(pages: ExtensionContext['pages']) {
    this.#pages = pages;
  }

  /** Shows that the invitation link is unknown, or that its invitation was removed. */
  unknown(ctx: Context): Promise<void> {
    return this.#show(ctx, undefined, message('invitations.unknown.title', 'invitations.unknown.text', 404));
  }

  /** Shows why the invitation cannot be accepted with this invitation link. */
  over(ctx: Context, opened: OpenedInvitation): Promise<void> {
    const { state, tenant } = opened;
    if (state === 'pending') throw new TypeError('the invitation can be accepted');
    const values = { tenant: tenant.name };
    const page = message(`invitations.${state}.title`, { key: `invitations.${state}.text`, values }, statusOf[state]);
    return this.#show(ctx, opened, page);
  }

  /** Shows the first page, with the form of the acceptance. */
  accept(ctx: Context, opened: OpenedInvitation, { action, other, problem, status = 200 }: FormPage): Promise<void> {
    const { ref, tenant, person, takes, passwordLength } = opened;
    const values = { tenant: tenant.name, userName: person.user.userName, name: shownName(person), length: String(passwordLength) };
    return this.#show(ctx, opened, {
      title: { key: 'invitations.accept.title', values },
      lead: { key: 'invitations.accept.lead', values },
      ...(problem !== undefined && takes !== 'password' ? { problem } : {}),
      status,
      form: { action, subject: formSubject(ref), fields: { over: other?.oid ?? '' } },
      parts: [...noticeOf(other, values), ...acceptParts(opened, values, problem)],
    });
  }

  /** Refuses a form that came from another browser or was changed. */
  foreign(ctx: Context, opened: OpenedInvitation | undefined, again?: string): Promise<void> {
    const parts = again === undefined ? [] : [openAgain(again)];
    return this.#show(ctx, opened, message('invitations.foreign.title', 'invitations.foreign.text', 403, parts));
  }

  /** Shows that the step has expired or belongs to another browser. */
  lost(ctx: Context): Promise<void> {
    return this.#show(ctx, undefined, message('invitations.lost.title', 'invitations.lost.text', 400));
  }

  /** Shows the form of a new account in the personal tenant. */
  create(ctx: Context, opened: OpenedInvitation, personal: Tenant, page: FormPage & CreateForm): Promise<void> {
    const { action, problem, status = 200, values, problems = {}, passwordLength } = page;
    const common = (name: keyof typeof problems) => ({
      part: 'field' as const,
      name,
      label: `invitations.create.${name}`,
      ...present({ problem: problems[name] }),
    });
    const names = Object.keys(autocompletes) as (keyof typeof autocompletes)[];
    return this.#show(ctx, opened, {
      title: 'invitations.create.title',
      lead: { key: 'invitations.create.lead', values: { tenant: personal.name } },
      ...present({ problem }),
      status,
      form: { action, subject: formSubject(opened.ref) },
      parts: [
        ...names.map((name) => ({
          ...common(name),
          autocomplete: autocompletes[name],
          value: values[name],
          isOptional: name !== 'email',
        })),
        {
          ...common('password'),
          kind: 'password',
          autocomplete: 'new-password',
          userName: { field: 'email' },
          hint: { key: 'invitations.accept.rule', values: { length: String(passwordLength) } },
        },
        { part: 'button', text: 'invitations.create.submit' },
      ],
    });
  }

  /** Shows both accounts before they are linked. */
  confirm(ctx: Context, opened: OpenedInvitation, personal: ShownAccount, action: string): Promise<void> {
    const { ref, person, tenant } = opened;
    const line = (account: ShownAccount): Text => ({ plain: `${account.tenant.name}: ${accountName(account.person)}` });
    return this.#show(ctx, opened, {
      title: 'invitations.confirm.title',
      lead: { key: 'invitations.confirm.lead', values: { tenant: tenant.name } },
      form: { action, subject: confirmSubject(ref, personal.person.user.id) },
      parts: [
        { part: 'list', items: [line(personal), line({ person, tenant })] },
        { part: 'button', text: 'invitations.confirm.submit', name: 'step', value: 'link' },
        anotherButton,
      ],
    });
  }

  /** Shows why the personal account cannot be linked, for example because it has an account of the tenant already. */
  refused(ctx: Context, opened: OpenedInvitation, reason: Refusal, action: string, oid: string): Promise<void> {
    return this.#show(ctx, opened, {
      title: 'invitations.refused.title',
      status: 409,
      form: { action, subject: confirmSubject(opened.ref, oid) },
      parts: [{ part: 'text', text: { key: `invitations.refused.${reason}`, values: { tenant: opened.tenant.name } } }, anotherButton],
    });
  }

  /** Shows that the account is ready. @param isSignedIn whether the browser is signed in to the account */
  async done(ctx: Context, tid: string | undefined, clientId: string | undefined, isSignedIn: boolean): Promise<void> {
    const look = tid === undefined ? {} : await this.#pages.brandingOf(tid, clientId);
    const values = { tenant: look.tenant?.name ?? '' };
    const text = isSignedIn ? 'invitations.done.signedIn' : 'invitations.done.ready';
    const parts: ViewPart[] = [{ part: 'text', text: { key: text, values } }];
    const href = look.client && homeOf(look.client);
    if (href !== undefined)
      parts.push({ part: 'link', text: { key: 'invitations.done.to', values: { client: look.client?.name ?? '' } }, href });
    await this.#pages.view(ctx, { ...look, title: 'invitations.done.title', parts });
  }

  async #show(ctx: Context, about: OpenedInvitation | undefined, page: View): Promise<void> {
    await this.#pages.view(ctx, { ...(about && (await this.#lookOf(about))), ...page });
  }

  async #lookOf({ tenant, clientId, locale }: OpenedInvitation) {
    return { ...(await this.#pages.brandingOf(tenant.id, clientId)), ...present({ uiLocales: locale }) };
  }
}

const message = (title: Text, text: Text, status: number, more: readonly ViewPart[] = []): View => ({
  title,
  status,
  parts: [{ part: 'text', text }, ...more],
});

/** Returns the notice about another signed-in user, whom an acceptance signs out. */
function noticeOf(other: OtherUser | undefined, values: Readonly<Record<string, string>>): readonly ViewPart[] {
  if (!other) return [];
  const text: Text =
    other.name === undefined
      ? 'invitations.accept.somebody'
      : { key: 'invitations.accept.other', values: { ...values, other: other.name } };
  return [{ part: 'text', text }];
}

/** Returns the fields and buttons of the first page. */
function acceptParts(
  { person, takes, providers }: OpenedInvitation,
  values: Readonly<Record<string, string>>,
  problem: Text | undefined,
): readonly ViewPart[] {
  const parts: Readonly<Record<OpenedInvitation['takes'], readonly ViewPart[]>> = {
    password: [
      { part: 'text', text: { key: 'invitations.accept.userName', values } },
      {
        part: 'field',
        name: 'password',
        label: 'invitations.accept.password',
        kind: 'password',
        autocomplete: 'new-password',
        userName: person.user.userName,
        hint: { key: 'invitations.accept.rule', values },
        ...present({ problem }),
      },
      { part: 'button', text: 'invitations.accept.submit' },
      ...(providers.length > 0 ? [elsewhere] : []),
    ],
    nothing:
      providers.length > 0
        ? [
            { part: 'text', text: { key: 'invitations.accept.elsewhere', values } },
            { part: 'button', text: 'invitations.accept.provider', name: 'step', value: 'provider' },
          ]
        : [
            { part: 'text', text: { key: 'invitations.accept.signInAfterwards', values } },
            { part: 'button', text: 'invitations.accept.submit' },
          ],
    link: [
      { part: 'text', text: { key: 'invitations.accept.link', values } },
      { part: 'button', text: 'invitations.accept.signIn', name: 'step', value: 'sign-in' },
      { part: 'button', text: 'invitations.accept.create', name: 'step', value: 'create', look: 'quiet' },
    ],
  };
  return parts[takes];
}

/** Returns where the application of a client begins: its `client_uri`, else the origin of its first https redirect URI; undefined for native clients. */
function homeOf({ metadata }: Pick<Client, 'metadata'>): string | undefined {
  const {
    application_type: type,
    client_uri: home,
    redirect_uris: uris = [],
  } = metadata as {
    readonly application_type?: string;
    readonly client_uri?: string;
    readonly redirect_uris?: readonly string[];
  };
  if (type === 'native') return undefined;
  const first = uris.map((uri) => new URL(uri)).find(({ protocol }) => protocol === 'https:');
  return home ?? first?.origin;
}

/** An account, as the page that shows both accounts needs it. */
type ShownAccount = Pick<Account, 'person' | 'tenant'>;

export interface CreateForm {
  readonly values: Readonly<Record<keyof typeof autocompletes, string>>;
  readonly problems?: Readonly<Partial<Record<'givenName' | 'familyName' | 'email' | 'password', Text>>>;
  readonly passwordLength: number;
}

const autocompletes = { givenName: 'given-name', familyName: 'family-name', email: 'username' } as const;

/** The button that accepts by a sign-in at a provider. */
const elsewhere = { part: 'button', text: 'invitations.accept.provider', name: 'step', value: 'provider', look: 'quiet' } as const;
/** The button that leads to a sign-in with another personal account. */
const anotherButton: ViewPart = { part: 'button', text: 'invitations.confirm.another', name: 'step', value: 'another', look: 'quiet' };
/** Returns the subject of the forms of an invitation link. */
export const formSubject = (ref: LinkRef): string => `invitation ${linkNameOf(ref)}`;
export const confirmSubject = (ref: LinkRef, oid: string): string => `link ${linkNameOf(ref)} ${oid}`;
const openAgain = (href: string): ViewPart => ({ part: 'link', text: 'invitations.foreign.again', href });
