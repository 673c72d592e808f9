import type { Context } from 'koa';
import {
  type Account,
  accountName,
  type ExtensionContext,
  mayLinkAccounts,
  ownMember,
  shownName,
  type Text,
  type View,
  type ViewPart,
} from '../../lib/extension-door.js';
import { idOf, type Pairing, type Refusal } from './pairing.js';

const nameOf = (account: Account): string => `${account.tenant.name}: ${accountName(account.person)}`;
const about = (account: Account): Readonly<Record<string, string>> => ({
  tenant: account.tenant.name,
  userName: account.person.user.userName,
});

const entriesOf = (accounts: readonly Account[], unlinkable: readonly Account[] = []): ViewPart => {
  const ids = new Set(unlinkable.map(idOf));
  return {
    part: 'entries',
    entries: accounts.map((account) => ({
      title: { plain: account.tenant.name },
      lines: [{ plain: shownName(account.person) }, { plain: account.person.user.userName }],
      ...(ids.has(idOf(account)) && {
        action: {
          text: 'linked.end',
          about: { plain: nameOf(account) },
          name: 'unlink',
          value: idOf(account),
        },
      }),
    })),
  };
};

/** Subjects of the forms, so that a form of one page is refused on another page. */
export const subjects = {
  list: (oid: string): string => `linked-accounts ${oid}`,
  link: (one: Account, other: Account): string => `linked-accounts link ${idOf(one)} ${idOf(other)}`,
  unlink: (child: Account): string => `linked-accounts unlink ${idOf(child)}`,
};

const refusalOf = (reason: Refusal | 'onlyWay'): Text => (reason === 'onlyWay' ? 'linked.onlyWay.title' : 'linked.refused.title');

/** Texts after a step that changed an account link. */
const notices: Readonly<Record<string, Text>> = { linked: 'linked.linked', unlinked: 'linked.unlinked' };

export function createPages({ service: { url, own }, pages: { view } }: ExtensionContext) {
  const base = url(`${own}/linked-accounts`);
  const back: ViewPart = { part: 'link', text: 'linked.back', href: base };
  const message = (title: Text, text: Text, status: number, parts: readonly ViewPart[] = [back]): View => ({
    title,
    status,
    parts: [{ part: 'text', text }, ...parts],
  });

  return {
    /** Shows the linked accounts. @param unlinkable accounts whose account link the user may end */
    async list(ctx: Context, here: Account, family: readonly Account[], unlinkable: readonly Account[], notice?: string): Promise<void> {
      const others = family.filter((account) => idOf(account) !== idOf(here));
      const done = ownMember(notices, notice ?? '');
      await view(ctx, {
        tenant: here.tenant,
        title: 'linked.title',
        lead: { key: 'linked.lead', values: about(here) },
        form: { action: base, subject: subjects.list(idOf(here)) },
        parts: [
          ...(done === undefined ? [] : [{ part: 'text', text: done } as const]),
          others.length === 0 ? { part: 'text', text: 'linked.none' } : entriesOf(others, unlinkable),
          mayLinkAccounts(here.tenant)
            ? { part: 'button', text: 'linked.add', name: 'step', value: 'link' }
            : { part: 'text', text: 'linked.closed' },
        ],
      });
    },

    /**
     * Shows both accounts before they are linked. If either account can become the parent account, the user chooses whose sign-in stays.
     * @param path of the form, below the page.
     */
    confirm: (ctx: Context, path: string, one: Account, other: Account, pairings: readonly Pairing[]): Promise<void> =>
      view(ctx, {
        tenant: one.tenant,
        title: 'linked.confirm.title',
        lead: 'linked.confirm.lead',
        form: { action: base + path, subject: subjects.link(one, other) },
        parts: [
          entriesOf([one, other]),
          { part: 'text', text: 'linked.confirm.credentials' },
          ...pairings.map(
            ({ parent }, index): ViewPart => ({
              part: 'button',
              text: { key: 'linked.confirm.submit', values: about(parent) },
              name: 'parent',
              value: idOf(parent),
              ...(index === 0 ? {} : { look: 'quiet' }),
            }),
          ),
          { ...back, text: 'linked.confirm.leave' },
        ],
      }),

    refused: (ctx: Context, other: Account, reason: Refusal | 'onlyWay'): Promise<void> =>
      view(ctx, message(refusalOf(reason), { key: `linked.refused.${reason}`, values: about(other) }, 409)),

    unlink: (ctx: Context, here: Account, child: Account): Promise<void> =>
      view(ctx, {
        tenant: here.tenant,
        title: 'linked.unlink.title',
        form: { action: `${base}/unlink`, subject: subjects.unlink(child), fields: { unlink: idOf(child) } },
        parts: [
          entriesOf([child]),
          { part: 'text', text: { key: 'linked.unlink.text', values: about(child) } },
          { part: 'button', text: 'linked.unlink.submit', look: 'warning' },
          { ...back, text: 'linked.unlink.leave' },
        ],
      }),

    /** Shows that the step has expired or was started in another browser. */
    lost: (ctx: Context): Promise<void> => view(ctx, message('linked.lost.title', 'linked.lost.text', 400)),
  };
}
