/**
 * The check_session_iframe, by which an application finds out whether the sign-in of its browser changed. The extension serves the frame, and answers
 * whether a client id is known. The script of the frame compares `session_state` with the cookie of the browser state.
 *
 * `lib/oidc/sessions` creates `session_state`, sets the cookie, and passes the name of the cookie on.
 * @see OpenID Connect Session Management 1.0 §3.2
 */
import type { Extension } from '../../lib/extension-door.js';
import { checkSessionFrame } from './frame.js';

const PATH = '/connect/checksession';

export const checkSession = (): Extension => ({
  name: 'check-session',
  discovery: ({ service: { url } }) => ({ check_session_iframe: url(PATH) }),
  routes(router, { service: { own, url, issuer }, directory, http: { browserStateCookie } }) {
    const clientPath = `${own}/check-session/client`;
    const { page, headers } = checkSessionFrame({ cookie: browserStateCookie, clientPath: new URL(url(clientPath)).pathname, issuer });

    router.get(PATH, (ctx) => {
      ctx.set(headers);
      ctx.type = 'html';
      ctx.body = page;
    });

    router.get(clientPath, async (ctx) => {
      const { client_id: id } = ctx.query;
      const client = typeof id === 'string' && id !== '' ? await directory.clients.get(id) : undefined;
      ctx.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
      ctx.body = { known: client?.status === 'active' };
    });
  },
});
