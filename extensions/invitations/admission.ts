/** Admissions of browsers that continued with an invitation link. Only these browsers get the next steps. */

import type { Context } from 'koa';
import type { BrowserSignIn, ExtensionContext, LinkRef, OpenedInvitation, Tenant } from '../../lib/extension-door.js';
import { present } from '../../lib/extension-door.js';
import { applicationOf } from './applications.js';
import type { ReturnState } from './finish.js';
import { admissionKind, linkNameOf, linkRefOf, type Pages } from './pages.js';

export interface AdmissionParts {
  readonly base: string;
  readonly pages: Pages;
}

/** The time when the browser continued with the invitation link, in milliseconds since the epoch. */
interface Admission {
  readonly admittedAt: number;
}

/** An admission with its invitation and the personal tenant. */
export interface Admitted extends Admission {
  readonly opened: OpenedInvitation;
  readonly personal: Tenant;
}

export type Admissions = ReturnType<typeof createAdmissions>;

export function createAdmissions(context: ExtensionContext, { base, pages }: AdmissionParts) {
  const {
    service: { url, now, personalTenant },
    directory,
    http: { csrf },
    records: { artifact },
    signIn,
  } = context;

  /** Returns the id of the record, which no other browser can find out. */
  const ticket = (ctx: Context, ref: LinkRef): string => csrf.ticket(ctx, `admitted ${linkNameOf(ref)}`);

  return {
    /** Returns the URL of a step. */
    stepUrl: (page: 'create' | 'confirm', ref: LinkRef): string =>
      url(`${base}/${page}?${new URLSearchParams({ invitation: linkNameOf(ref) })}`),

    /** Admits the browser to the next steps. */
    async admit(ctx: Context, ref: LinkRef): Promise<void> {
      const admission: Admission = { admittedAt: now() };
      await artifact(admissionKind).put(ticket(ctx, ref), admission);
    },

    /** Returns whether the user's credentials are unchanged since the sign-in. Otherwise neither the page nor its form is accepted. */
    isProofCurrent: async ({ account, proof }: BrowserSignIn): Promise<boolean> =>
      proof !== undefined && directory.credentials.holds(account, proof),

    /** Returns the invitation in the URL, if the browser is admitted to it; undefined after a page was shown instead. */
    async open(ctx: Context, mayBeAccepted = false): Promise<Admitted | undefined> {
      const ref = linkRefOf(String(ctx.query.invitation));
      const admission = ref && ((await artifact(admissionKind).read(ticket(ctx, ref))) as Admission | undefined);
      const opened = admission && ref && (await directory.acceptance.open(ref));
      const personal = personalTenant === undefined ? undefined : await directory.tenants.get(personalTenant);
      if (!admission || !opened || !personal || opened.takes !== 'link') {
        await pages.lost(ctx);
        return undefined;
      }
      if (opened.state !== 'pending' && !(mayBeAccepted && opened.state === 'accepted')) {
        await pages.over(ctx, opened);
        return undefined;
      }
      return { ...admission, opened, personal };
    },

    /** Sends the browser to the sign-in of the personal tenant. */
    async signInToPersonal(ctx: Context, { ref, tenant, clientId, locale }: OpenedInvitation, more: object = {}): Promise<void> {
      const state: ReturnState = { tid: tenant.id, ...present({ clientId }), linking: ref };
      await signIn.require(ctx, {
        client: applicationOf(tenant.id, clientId),
        state: JSON.stringify(state),
        prompt: 'login',
        acrValues: `tenant:${personalTenant}`,
        ...present({ uiLocales: locale }),
        ...more,
      });
    },
  };
}
