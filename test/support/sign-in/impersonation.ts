/** Impersonation by a test extension, in which every user may impersonate every other user. */
import { type Context, type Extension, type Interaction, parametersOf } from 'tenant-idp/extension';

export interface ImpersonatingOptions {
  /** Milliseconds that an impersonation lasts. */
  lasts: number;
}

export const actAs = (options: ImpersonatingOptions): Extension => ({
  name: 'act-as',
  requirements: ({ service: { url, own }, http: { csrf } }) => [
    {
      name: 'act-as',
      after: ['*'],
      serves: 'impersonate',
      error: 'interaction_required',
      silent: 'pass',
      check: () => 'met',
      show(ctx, { uid }) {
        ctx.type = 'html';
        ctx.body = `<form method="post" action="${url(`${own}/interaction/${uid}/act-as`)}"><h1>act</h1>
<input name="csrf" value="${csrf.token(ctx, uid)}"><input name="user"></form>`;
      },
    },
  ],
  routes(router, { service: { own }, signIn: { interactions }, directory, impersonation: { end: endImpersonation } }) {
    const take = async (ctx: Context, interaction: Interaction): Promise<void> => {
      const { user = '', actor: named } = parametersOf(ctx, ['user', 'actor']);
      const [target] = await directory.accounts.candidates(user);
      const [other] = named === undefined ? [] : await directory.accounts.candidates(named);
      const actor = other ?? (await directory.accounts.findByOid(interaction.oid ?? ''));
      if (!target || !actor) return ctx.throw(400);
      const { id, parentUserId } = actor.person.user;
      const next = await interactions.signIn(ctx, interaction, {
        oid: target.person.user.id,
        amr: ['pwd', 'imp'],
        idp: 'local',
        proof: await directory.credentials.proofOf(target, new Date()),
        act: { oid: id, sub: parentUserId ?? id, tid: actor.tenant.id },
        endsAt: new Date(Date.now() + options.lasts),
        offline: false,
      });
      if (next === undefined) return ctx.throw(409);
      ctx.status = 303;
      ctx.redirect(next);
    };
    router.postForm(`${own}/interaction/:uid/act-as`, {
      whileImpersonating: true,
      open: (ctx) => interactions.load(ctx),
      subject: ({ uid }) => uid,
      again: (ctx) => ctx.throw(403),
      take,
    });
    router.postWithoutCsrf('/idp/end-acting', async (ctx) => {
      ctx.body = { next: await endImpersonation(ctx, 'https://app.test/') };
    });
  },
});
