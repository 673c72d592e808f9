/** A sign-in method of tests: an upstream provider, which is a route that shows no page. */
import { randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import { type Extension, locales } from 'tenant-idp';
import type { SignInMethod } from 'tenant-idp/extension';

/** Identity that the provider states. */
export interface Upstream {
  subject: string;
  readonly seen: Record<string, string>[];
  /** Whether sign-ins through the provider give refresh tokens. */
  offline?: false | undefined;
}

export const label = (text: string) => Object.fromEntries(locales.map((locale) => [locale, `${text} (${locale})`])) as never;

/** @param more members that replace members of the method */
export function upstreamMethod(name: string, upstream: Upstream, more: Partial<SignInMethod> = {}): Extension {
  const states = new Map<string, { readonly uid: string; readonly idp: string }>();
  const redirect = (ctx: Context, target: string) => {
    ctx.status = 303;
    ctx.redirect(target);
  };
  return {
    name: `method-${name}`,
    signInMethods: ({ service: { own, url } }) => [
      {
        name,
        buttons: () => [{ idp: name, label: label(`Use ${name}`) }],
        begin(ctx, { uid, parameters }, idp) {
          const state = randomUUID();
          states.set(state, { uid, idp });
          upstream.seen.push({ ...parameters, idp });
          redirect(ctx, url(`${own}/${name}/provider?state=${state}`));
        },
        ...more,
      },
    ],
    routes(router, { service: { own, url }, signIn: { interactions }, directory }) {
      router.get(`${own}/${name}/provider`, (ctx) =>
        redirect(ctx, url(`${own}/${name}/callback?state=${ctx.query.state}&sub=${upstream.subject}`)),
      );
      // Browsers send the cookies of the sign-in only to the path of the sign-in.
      router.get(`${own}/${name}/callback`, (ctx) =>
        redirect(ctx, url(`${own}/interaction/${states.get(String(ctx.query.state))?.uid}/${name}?${ctx.querystring}`)),
      );
      router.get(`${own}/interaction/:uid/${name}`, async (ctx) => {
        const interaction = await interactions.load(ctx);
        if (!interaction) return;
        const state = states.get(String(ctx.query.state));
        states.delete(String(ctx.query.state));
        if (state?.uid !== interaction.uid) return ctx.throw(400);
        const [account] = await directory.accounts.ofIdentity({ idp: state.idp, subject: String(ctx.query.sub) });
        const proof = account && (await directory.credentials.proofOf(account, new Date()));
        const { offline } = upstream;
        const signed = { amr: ['external'], idp: state.idp, ...(offline === false && { offline }) };
        const signIn = account && proof && { oid: account.person.user.id, ...signed, proof };
        const target = signIn && (await interactions.signIn(ctx, interaction, signIn));
        redirect(ctx, target ?? (await interactions.abort(ctx, interaction)));
      });
    },
  };
}
