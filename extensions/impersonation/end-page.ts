/** The page that shows the impersonation of this browser, and ends it. */
import type { Context } from 'koa';
import { canParseUrl, type ExtensionContext, type ExtensionRouter, parametersOf, redirectByGet } from '../../lib/extension-door.js';
import { idOf, type Lifecycle } from './lifecycle.js';
import { Pages, type Problem } from './pages.js';

/** Maximum characters of a URI that a client may register. */
const LONGEST_URI = 2048;

export function endPageRoutes(router: ExtensionRouter, context: ExtensionContext, lifecycle: Lifecycle): void {
  const {
    service: { own, url },
    signIn,
    directory,
    impersonation: { end: endImpersonation },
  } = context;
  const pages = new Pages(context);
  const path = `${own}/impersonation`;

  async function asked(ctx: Context) {
    const { client_id: clientId, return_to: wanted } = parametersOf(ctx, ['client_id', 'return_to']);
    const next = await returnOf(directory, clientId, wanted);
    return { next, fields: next === undefined ? {} : { client_id: String(clientId), return_to: next } };
  }

  /** Returns the impersonation of this browser. The impersonator can end it even if a requirement of the user is open. */
  async function current(ctx: Context) {
    const here = await signIn.toEnd(ctx);
    const id = idOf(here?.impersonation);
    const row = id === undefined ? undefined : await lifecycle.find(id);
    const [operator, target] = row
      ? await Promise.all([row.operator.oid, row.targetOid].map((oid) => directory.accounts.findByOid(oid)))
      : [];
    return here && row && operator && target ? { row, operator, target, subject: `impersonation ${here.session}` } : undefined;
  }

  async function show(
    ctx: Context,
    impersonation: NonNullable<Awaited<ReturnType<typeof current>>>,
    fields: Readonly<Record<string, string>>,
    problem?: Problem,
  ) {
    const { row, operator, target, subject } = impersonation;
    await pages.here(ctx, row, operator, target, { subject, fields, ...(problem ? { problem } : {}) });
  }

  router.get(path, async (ctx: Context) => {
    const { next, fields } = await asked(ctx);
    const impersonation = await current(ctx);
    return impersonation ? show(ctx, impersonation, fields) : pages.none(ctx, next ?? (await applicationOf(directory, ctx)));
  });

  router.postForm(path, {
    whileImpersonating: true,
    async open(ctx) {
      const { next, fields } = await asked(ctx);
      const impersonation = await current(ctx);
      if (!impersonation) await pages.none(ctx, next);
      return impersonation && { impersonation, next, fields };
    },
    subject: ({ impersonation }) => impersonation.subject,
    again: (ctx, { impersonation, fields }) => show(ctx, impersonation, fields, { text: 'impersonation.foreign', status: 403 }),
    async take(ctx, { next, impersonation }) {
      // Without the address of an application, the page that follows leads to the application in which the impersonation began.
      const target = next ?? `${url(path)}?${new URLSearchParams({ ended: impersonation.row.clientId })}`;
      redirectByGet(ctx, (await endImpersonation(ctx, target)) ?? target);
    },
  });
}

/**
 * Returns the URL if the client may send the browser there after the end. The client registered the URL for the sign-out, or a redirect URI of the same
 * origin.
 */
async function returnOf(
  { clients }: ExtensionContext['directory'],
  clientId: string | undefined,
  wanted: string | undefined,
): Promise<string | undefined> {
  if (clientId === undefined || wanted === undefined || wanted.length > LONGEST_URI || !canParseUrl(wanted)) return undefined;
  const { protocol, origin, username, password } = new URL(wanted);
  if (!/^https?:$/.test(protocol) || username !== '' || password !== '') return undefined;
  const client = await clients.get(clientId);
  if (client?.status !== 'active') return undefined;
  const { redirect_uris: redirects = [], post_logout_redirect_uris: afterLogout = [] } = client.metadata as {
    readonly redirect_uris?: readonly string[];
    readonly post_logout_redirect_uris?: readonly string[];
  };
  const isOwn = afterLogout.includes(wanted) || redirects.some((uri) => canParseUrl(uri) && new URL(uri).origin === origin);
  return isOwn ? wanted : undefined;
}

/** Returns the link to the application in which an impersonation that has just ended began. Any browser may send the id, so the link is the registered one. */
async function applicationOf({ clients }: ExtensionContext['directory'], ctx: Context): Promise<string | undefined> {
  const { ended } = parametersOf(ctx, ['ended']);
  const client = ended === undefined ? undefined : await clients.get(ended);
  const { client_uri: uri } = (client?.status === 'active' ? client.metadata : {}) as { readonly client_uri?: string };
  return uri;
}
