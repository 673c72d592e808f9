/** Types of routes, compiled and never run: a line that stops failing to compile breaks the build. */
import { type Context, defineCollection, type ExtensionContext, type ExtensionRouter, form, Type } from 'tenant-idp/extension';

declare const router: ExtensionRouter;
declare const context: ExtensionContext;

const open = (ctx: Context) => context.signIn.current(ctx);
const again = (ctx: Context): never => ctx.throw(403);
const take = (ctx: Context): void => {
  ctx.body = 'saved';
};

router.postForm('/nickname', { open, subject: ({ session }) => session, again, take });
// @ts-expect-error Without a subject, the token of the form could not be checked.
router.postForm('/nickname', { open, again, take });
// @ts-expect-error A form of another site needs an answer.
router.postForm('/nickname', { open, subject: ({ session }) => session, take });
// @ts-expect-error `post` would take a form without any check.
router.post('/nickname', form, take);
// @ts-expect-error `all` takes POST too.
router.all('/nickname', form, take);
// @ts-expect-error `use` could answer a POST.
router.use(form, take);
// @ts-expect-error `register` takes POST too.
router.register('/nickname', ['post'], [form, take]);
router.postWithoutCsrf('/api/nickname', context.http.bearer('nicknames', 'nicknames'), (ctx) => {
  ctx.body = ctx.state.accessToken.client.id;
});

router.linkPages({
  path: '/petition/:token',
  open: (token) => ({ token }),
  subject: ({ token }) => token,
  ask: (_ctx, { token }) => void token,
  take: async () => 'used',
  unknown: again,
  again,
});
// @ts-expect-error The form of a link has a subject too.
router.linkPages({ path: '/petition/:token', open: (token) => ({ token }), ask: take, take: async () => 'used', unknown: again, again });

const notes = defineCollection({ name: 'notes.entries', row: Type.Object({ text: Type.String() }), indexes: {} });
context.records.collection(notes, 'a tenant');
// @ts-expect-error Rows are of one tenant. Rows of all tenants have a method whose name says so.
context.records.collection(notes);
context.records.collectionOfAllTenants(notes);
