/**
 * Account page: the signed-in user, and links to the pages of extensions on which users change their account. The page changes nothing, so any sign-in of
 * the browser opens it. Each linked page requires the recent sign-in that its changes need.
 */
import type { Context } from 'koa';
import {
  type AccountSection,
  accountGroups,
  type BrowserSignIn,
  createOwnPage,
  type Extension,
  type ExtensionContext,
  type ViewPart,
} from '../../lib/extension-door.js';
import { applications } from './applications.js';
import { data } from './data.js';
import { profile } from './profile.js';
import { addReturn, type Section } from './section.js';
import { sessions } from './sessions.js';
import { signIns } from './sign-ins.js';
import { texts } from './texts/index.js';

/** Sections of this extension. */
const sections: readonly Section[] = [profile, sessions, applications, signIns, data];

const pathOf = ({ service: { own } }: Pick<ExtensionContext, 'service'>): string => `${own}/account`;
const pageOf = (context: ExtensionContext) => createOwnPage(context, 'account:page', pathOf(context));

export const account = (): Extension => ({
  name: 'account',
  texts,
  accountSections: sections,
  clients: (context) => {
    const all = [pageOf(context).clients, ...sections.map(({ clients }) => clients(context))];
    return {
      find: async (id) => {
        for (const clients of all) {
          const found = await clients.find(id);
          if (found) return found;
        }
        return undefined;
      },
    };
  },
  routes(router, context) {
    for (const { routes } of sections) routes(router, context);
    const {
      pages: { view },
    } = context;
    const path = pathOf(context);
    const page = pageOf(context);

    router.get(path, async (ctx: Context) => {
      const here = await page.present(ctx, path);
      if (!here) return;
      const { tenant, person } = here.account;
      await view(ctx, {
        tenant,
        title: 'account.title',
        lead: { key: 'account.lead', values: { userName: person.user.userName, tenant: tenant.name } },
        parts: partsOf(await sectionsFor(context, here)),
      });
    });

    addReturn(router, context, page, path, 'account.title');
  },
});

/** Names of the service's own sections, in the order of the account page. Sections of hosts follow in their group, in the order of the extensions. */
const order = [
  'profile',
  'password',
  'factors',
  'email',
  'identities',
  'linked-accounts',
  'ciba',
  'sessions',
  'applications',
  'signIns',
  'data',
];

/** A section that the account page lists for a user. */
interface Listed extends AccountSection {
  readonly address: string;
}

/** Returns the sections for the user, in the order of the account page. */
async function sectionsFor(context: ExtensionContext, here: BrowserSignIn): Promise<readonly Listed[]> {
  const all = await Promise.all(
    context.pages.accountSections.map(async (section): Promise<readonly Listed[]> => {
      const address = section.href(context);
      const isListed = address !== undefined && ((await section.isFor?.(here, context)) ?? true);
      return isListed ? [{ ...section, address }] : [];
    }),
  );
  const placeOf = ({ name }: AccountSection): number => (order.includes(name) ? order.indexOf(name) : order.length);
  return all.flat().toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** Returns a heading and the links of each group that has sections. */
const partsOf = (listed: readonly Listed[]): readonly ViewPart[] =>
  accountGroups.flatMap((wanted): readonly ViewPart[] => {
    const links = listed
      .filter(({ group = 'more' }) => group === wanted)
      .map(({ title, summary, address }) => ({ title, lines: [summary], href: address }));
    return links.length === 0
      ? []
      : [
          { part: 'heading', text: `account.group.${wanted}` },
          { part: 'links', links },
        ];
  });
