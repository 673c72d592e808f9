import type { Extension } from 'tenant-idp/extension';

/** Notes of a person, for applications that have an access token with scope `notes`. */
export const notes: Extension = {
  name: 'notes',
  discovery: ({ url }) => ({ notes_endpoint: url('/notes') }),
  routes(router) {
    router.get('/notes', (ctx) => {
      ctx.body = { notes: [] };
    });
  },
};
