/** Pages that state something about a link and ask for nothing, and texts about passwords that are refused. */
import type { Context } from 'koa';
import type { ExtensionContext, IdpError, Look, Text, ViewPart } from '../../lib/extension-door.js';

/** Texts of the rules that a password can break. */
const problems: Readonly<Record<string, string>> = {
  length: 'passwords.reset.short',
  userName: 'passwords.reset.userName',
  weak: 'passwords.reset.weak',
  leaked: 'passwords.reset.leaked',
  same: 'passwords.own.same',
};

/** Returns the text about the rule that a password breaks. @param length minimum characters of a password */
export const passwordProblem = ({ details }: Pick<IdpError, 'details'>, length: number): Text => ({
  key: problems[String(details.rule)] ?? 'passwords.reset.short',
  values: { length: String(length) },
});

export function createMessages({ pages: { view } }: Pick<ExtensionContext, 'pages'>) {
  const message = (ctx: Context, look: Look, name: string, status: number, text: Text, more: readonly ViewPart[] = []): Promise<void> =>
    view(ctx, { ...look, title: `passwords.${name}.title`, status, parts: [{ part: 'text', text }, ...more] });
  return {
    /** Shows the page for an unknown link, and for a link whose records have been removed. */
    unknown: (ctx: Context) => message(ctx, {}, 'unknown', 404, 'passwords.unknown.text'),
    /** Shows the page for a form of another browser, and for a changed form. */
    foreign: (ctx: Context, look: Look, again: string) =>
      message(ctx, look, 'foreign', 403, 'passwords.foreign.text', [{ part: 'link', text: 'passwords.foreign.again', href: again }]),
    often(ctx: Context, look: Look, minutes: number): Promise<void> {
      ctx.set('Retry-After', String(minutes * 60));
      return message(ctx, look, 'tooOften', 429, { key: 'passwords.often', values: { minutes: String(minutes) } });
    },
    sentAgain: (ctx: Context, look: Look, tenant: string) =>
      message(ctx, look, 'sent', 200, { key: 'passwords.sent.again', values: { tenant } }),
    /** Shows the page for an expired sign-in, and for the sign-in of another browser. */
    lost: (ctx: Context) => message(ctx, {}, 'lost', 400, 'passwords.lost.text'),
  };
}
