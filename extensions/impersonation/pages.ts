/** The pages of impersonation: whom to act as, why and for how long; and the one on which it ends. */
import type { Context } from 'koa';
import {
  type Account,
  accountName,
  type ExtensionContext,
  type Interaction,
  shownName,
  type Text,
  type View,
  type ViewPart,
} from '../../lib/extension-door.js';
import type { ImpersonationRow } from './records.js';
import type { Found } from './search.js';

const about = (account: Account): Readonly<Record<string, string>> => ({
  name: shownName(account.person),
  userName: account.person.user.userName,
  tenant: account.tenant.name,
});

/** What went wrong, with its status. */
export interface Problem {
  readonly text: Text;
  readonly status: number;
}

/** As it was typed. */
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

const minute = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

export function createPages({ service: { url, own }, pages: { view, brandingOf } }: Pick<ExtensionContext, 'service' | 'pages'>) {
  const step = (ctx: Context, interaction: Interaction, fields: Readonly<Record<string, string>>, page: View, problem?: Problem) =>
    view(ctx, {
      interaction,
      ...page,
      ...(problem ? { problem: problem.text, status: problem.status } : {}),
      form: { action: url(`${own}/interaction/${interaction.uid}/impersonate`), fields },
    });
  const back: ViewPart = { part: 'button', text: 'impersonation.back', name: 'step', value: 'who', look: 'quiet' };

  return {
    tenants: (ctx: Context, interaction: Interaction, operators: readonly Account[], problem?: Problem) =>
      step(
        ctx,
        interaction,
        { step: 'who' },
        {
          title: 'impersonation.tenants.title',
          lead: 'impersonation.tenants.lead',
          parts: [
            {
              part: 'choices',
              name: 'tid',
              choices: operators.map((operator) => ({
                value: operator.tenant.id,
                title: { plain: operator.tenant.name },
                lines: [{ plain: operator.person.user.userName }],
              })),
            },
          ],
        },
        problem,
      ),

    who: (
      ctx: Context,
      interaction: Interaction,
      operator: Account,
      { query, found: { people, next } }: { readonly query: string; readonly found: Found },
      problem?: Problem,
    ) =>
      step(
        ctx,
        interaction,
        { tid: operator.tenant.id, searched: query },
        {
          title: 'impersonation.who.title',
          lead: { key: 'impersonation.who.lead', values: about(operator) },
          parts: [
            { part: 'field', name: 'query', label: 'impersonation.who.query', value: query, isOptional: true },
            { part: 'button', text: 'impersonation.who.search', name: 'step', value: 'who' },
            people.length === 0
              ? { part: 'text', text: 'impersonation.who.none' }
              : {
                  part: 'entries',
                  entries: people.map((person) => ({
                    title: { plain: shownName(person.person) },
                    lines: [
                      { plain: person.person.user.userName },
                      ...[person.person.email].flatMap((email = '') =>
                        email === '' || email === person.person.user.userName ? [] : { plain: email },
                      ),
                    ],
                    action: {
                      text: 'impersonation.who.choose',
                      about: { plain: accountName(person.person) },
                      name: 'choose',
                      value: person.person.user.id,
                    },
                  })),
                },
            ...(next === undefined
              ? []
              : [{ part: 'button', text: 'impersonation.who.more', name: 'after', value: next, look: 'neutral' } as const]),
          ],
        },
        problem,
      ),

    why: (ctx: Context, interaction: Interaction, target: Account, typed: Typed, bounds: Bounds, wrong: Wrong = {}, problem?: Problem) => {
      const most = { characters: String(bounds.characters), minutes: String(bounds.minutes) };
      const isWrong = wrong.reason || wrong.minutes;
      return step(
        ctx,
        interaction,
        { tid: target.tenant.id, user: target.person.user.id },
        {
          title: { key: 'impersonation.why.title', values: about(target) },
          lead: { key: 'impersonation.why.lead', values: about(target) },
          ...(isWrong ? { status: 400 } : {}),
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
        },
        problem,
      );
    },

    /** The target's tenant asks for a second factor that was not proven, or not of late. */
    again: (ctx: Context, interaction: Interaction, target: Account) =>
      step(
        ctx,
        interaction,
        { tid: target.tenant.id, user: target.person.user.id },
        {
          title: 'impersonation.again.title',
          lead: { key: 'impersonation.again.lead', values: about(target) },
          parts: [{ part: 'button', text: 'impersonation.again.submit', name: 'step', value: 'again' }, back],
        },
      ),

    /** Who acts as whom in this browser. */
    here: async (
      ctx: Context,
      { startedAt, endsAt }: ImpersonationRow,
      operator: Account,
      target: Account,
      {
        subject,
        fields,
        problem,
      }: { readonly subject: string; readonly fields: Readonly<Record<string, string>>; readonly problem?: Problem },
    ) =>
      view(ctx, {
        ...(await brandingOf(target.tenant.id)),
        title: { key: 'impersonation.here.title', values: about(target) },
        lead: { key: 'impersonation.here.lead', values: { ...about(target), operator: shownName(operator.person) } },
        ...(problem ? { problem: problem.text, status: problem.status } : {}),
        form: { action: url(`${own}/impersonation`), subject, fields },
        parts: [
          { part: 'text', text: { key: 'impersonation.here.times', values: { since: minute(startedAt), until: minute(endsAt) } } },
          { part: 'button', text: 'impersonation.here.end' },
        ],
      }),

    /** Nobody acts as somebody else in this browser. @param next where the person came from */
    none: (ctx: Context, next: string | undefined) =>
      view(ctx, {
        title: 'impersonation.none.title',
        parts: [
          { part: 'text', text: 'impersonation.none.text' },
          ...(next === undefined ? [] : [{ part: 'link', text: 'impersonation.none.back', href: next } as const]),
        ],
      }),
  };
}
