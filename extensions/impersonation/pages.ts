/** The pages of impersonation: the choice of tenant and user, the reason and the minutes, and the end. */
import type { Context } from 'koa';
import {
  type Account,
  accountName,
  type ExtensionContext,
  type InLanguage,
  type Interaction,
  shownName,
  type Text,
  utcTime,
  type View,
  type ViewPart,
} from '../../lib/extension-door.js';
import type { ImpersonationRow } from './records.js';
import type { FoundUsers } from './targets.js';

const about = (account: Account): Readonly<Record<string, string>> => ({
  name: shownName(account.person),
  userName: account.person.user.userName,
  tenant: account.tenant.name,
});

/** A problem that a page shows, with the status of the answer. */
export interface Problem {
  readonly text: Text;
  readonly status: number;
}

/** Fields as the operator typed them. */
export interface Typed {
  readonly reason: string;
  readonly minutes: string;
}

export interface Bounds {
  readonly characters: number;
  readonly minutes: number;
}

export interface Wrong {
  readonly reason?: boolean;
  readonly minutes?: boolean;
}

const minute = (time: Date): InLanguage => ({ inLanguage: (locale) => `${utcTime(time).inLanguage(locale)} UTC` });

const back: ViewPart = { part: 'button', text: 'impersonation.back', name: 'step', value: 'who', look: 'quiet' };

export class Pages {
  readonly #context: Pick<ExtensionContext, 'service' | 'pages'>;

  constructor(context: Pick<ExtensionContext, 'service' | 'pages'>) {
    this.#context = context;
  }

  async tenants(ctx: Context, interaction: Interaction, operators: readonly Account[], problem?: Problem): Promise<void> {
    const choices = operators.map(({ tenant, person }) => ({
      value: tenant.id,
      title: { plain: tenant.name },
      lines: [{ plain: person.user.userName }],
    }));
    const page: View = {
      title: 'impersonation.tenants.title',
      lead: 'impersonation.tenants.lead',
      parts: [{ part: 'choices', name: 'tid', choices }],
    };
    await this.#step(ctx, interaction, { step: 'who' }, page, problem);
  }

  async who(
    ctx: Context,
    interaction: Interaction,
    operator: Account,
    { query, found: { users, next } }: { readonly query: string; readonly found: FoundUsers },
    problem?: Problem,
  ): Promise<void> {
    const page: View = {
      title: 'impersonation.who.title',
      lead: { key: 'impersonation.who.lead', values: about(operator) },
      parts: [
        { part: 'field', name: 'query', label: 'impersonation.who.query', value: query, isOptional: true },
        { part: 'button', text: 'impersonation.who.search', name: 'step', value: 'who' },
        users.length === 0 ? { part: 'text', text: 'impersonation.who.none' } : { part: 'entries', entries: users.map(entryOf) },
        ...(next === undefined
          ? []
          : [{ part: 'button', text: 'impersonation.who.more', name: 'after', value: next, look: 'quiet' } as const]),
      ],
    };
    await this.#step(ctx, interaction, { tid: operator.tenant.id, searched: query }, page, problem);
  }

  async why(ctx: Context, interaction: Interaction, target: Account, typed: Typed, bounds: Bounds, wrong: Wrong = {}): Promise<void> {
    const most = { characters: String(bounds.characters), minutes: String(bounds.minutes) };
    const page: View = {
      title: { key: 'impersonation.why.title', values: about(target) },
      lead: { key: 'impersonation.why.lead', values: about(target) },
      ...(wrong.reason || wrong.minutes ? { status: 400 } : {}),
      parts: [
        {
          part: 'field',
          name: 'reason',
          label: 'impersonation.why.reason',
          value: typed.reason,
          ...(wrong.reason ? { problem: { key: 'impersonation.why.wrongReason', values: most } } : {}),
        },
        {
          part: 'field',
          name: 'minutes',
          label: { key: 'impersonation.why.minutes', values: most },
          value: typed.minutes,
          ...(wrong.minutes ? { problem: { key: 'impersonation.why.wrongMinutes', values: most } } : {}),
        },
        { part: 'text', text: 'impersonation.why.recorded' },
        { part: 'button', text: { key: 'impersonation.why.submit', values: about(target) }, name: 'step', value: 'start' },
        back,
      ],
    };
    await this.#step(ctx, interaction, fieldsOf(target), page);
  }

  /** Asks the operator to sign in again, because the target's tenant requires a recent second factor. */
  async again(ctx: Context, interaction: Interaction, target: Account): Promise<void> {
    await this.#step(ctx, interaction, fieldsOf(target), {
      title: 'impersonation.again.title',
      lead: { key: 'impersonation.again.lead', values: about(target) },
      parts: [{ part: 'button', text: 'impersonation.again.submit', name: 'step', value: 'again' }, back],
    });
  }

  /** Shows the impersonation of this browser, with the button that ends it. */
  async here(
    ctx: Context,
    { startedAt, endsAt }: ImpersonationRow,
    operator: Account,
    target: Account,
    {
      subject,
      fields,
      problem,
    }: { readonly subject: string; readonly fields: Readonly<Record<string, string>>; readonly problem?: Problem },
  ): Promise<void> {
    const {
      service: { url, own },
      pages: { view, brandingOf },
    } = this.#context;
    await view(ctx, {
      ...(await brandingOf(target.tenant.id)),
      title: { key: 'impersonation.here.title', values: about(target) },
      lead: { key: 'impersonation.here.lead', values: { ...about(target), operator: shownName(operator.person) } },
      ...(problem ? { problem: problem.text, status: problem.status } : {}),
      form: { action: url(`${own}/impersonation`), subject, fields },
      parts: [
        { part: 'text', text: { key: 'impersonation.here.times', values: { since: minute(startedAt), until: minute(endsAt) } } },
        { part: 'button', text: 'impersonation.here.end' },
      ],
    });
  }

  /** Shows that this browser has no impersonation, and leads on. @param next URL of the application that the person came from */
  async none(ctx: Context, next: string | undefined): Promise<void> {
    const { pages, service } = this.#context;
    await pages.view(ctx, {
      title: 'impersonation.none.title',
      parts: [
        { part: 'text', text: 'impersonation.none.text' },
        ...(next === undefined ? [] : [{ part: 'link', text: 'impersonation.none.back', href: next, look: 'filled' } as const]),
        { part: 'link', text: 'impersonation.none.account', href: service.url(`${service.own}/account`), look: 'quiet' },
      ],
    });
  }

  /** Shows a page of the sign-in. The form of the page posts the next step. */
  async #step(
    ctx: Context,
    interaction: Interaction,
    fields: Readonly<Record<string, string>>,
    page: View,
    problem?: Problem,
  ): Promise<void> {
    const { service, pages } = this.#context;
    await pages.view(ctx, {
      interaction,
      ...page,
      ...(problem ? { problem: problem.text, status: problem.status } : {}),
      form: { action: service.url(`${service.own}/interaction/${interaction.uid}/impersonate`), fields },
    });
  }
}

/** Returns the hidden fields of a form about a user. */
const fieldsOf = ({ tenant, person }: Account) => ({ tid: tenant.id, user: person.user.id });

/** Returns the entry of a user whom the operator may choose. */
function entryOf({ person }: Account) {
  const { user, email = '' } = person;
  const hasOtherEmail = email !== '' && email !== user.userName;
  return {
    title: { plain: shownName(person) },
    isPerson: true,
    lines: [{ plain: user.userName }, ...(hasOtherEmail ? [{ plain: email }] : [])],
    action: { text: 'impersonation.who.choose', about: { plain: accountName(person) }, name: 'choose', value: user.id },
  };
}
