import type { Extension } from 'tenant-idp/extension';

/**
 * Creates a logout participant for a chat server that keeps connections open. The chat server asks for the signed-in user when a browser connects. The chat
 * server is notified when that sign-in ends. Notices wait in the durable queue until the chat server answers.
 * @param hook URL of the chat server.
 */
export const chat = (hook: string): Extension => ({
  name: 'chat',
  routes(router, { signIn }) {
    router.get('/chat/me', async (ctx) => {
      const here = await signIn.current(ctx);
      ctx.set('Cache-Control', 'no-store');
      ctx.body = here ? { user: here.oid, name: here.account.person.givenName, session: here.session } : { user: null };
    });
  },
  logoutParticipant: () => ({
    notices: ({ session, oid }) => [{ name: 'Chat', notice: { session, user: oid } }],
    async send(notice) {
      const { status } = await fetch(hook, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(notice),
        signal: AbortSignal.timeout(5_000),
      });
      if (status !== 204) throw new Error(`the chat server answered ${status}`);
    },
  }),
});
