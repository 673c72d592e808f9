/** Requirements of test extensions: terms that the user accepts, and a second factor that is a word. */
import type { Context } from 'koa';
import type { Extension } from 'tenant-idp';
import type { ExtensionContext, Interaction, Requirement } from 'tenant-idp/extension';

/** Reads the posted form without a parser. */
async function fieldsOf(ctx: Context): Promise<URLSearchParams> {
  let text = '';
  for await (const chunk of ctx.req) text += chunk;
  return new URLSearchParams(text);
}

interface Step {
  readonly requirement: Omit<Requirement, 'show'>;
  /** Name of the page's field. */
  readonly field: string;
  /** Returns the URL to continue at after the field was posted; undefined shows the page again. */
  posted(value: string, ctx: Context, interaction: Interaction, context: ExtensionContext): Promise<string | undefined>;
}

/** Returns an extension with one requirement, whose page has one field. */
function requirementStep({ requirement, field, posted }: Step): Extension {
  const { name } = requirement;
  const path = ({ service: { own } }: ExtensionContext, uid: string) => `${own}/interaction/${uid}/${name}`;
  const show = (context: ExtensionContext, ctx: Context, { uid }: Interaction): void => {
    ctx.type = 'html';
    ctx.body = `<form method="post" action="${context.service.url(path(context, uid))}"><h1>${name}</h1>
<input name="csrf" value="${context.http.csrf.token(ctx, uid)}"><input name="${field}"></form>`;
  };
  return {
    name: `step-${name}`,
    requirements: (context) => [{ ...requirement, show: (ctx, interaction) => show(context, ctx, interaction) }],
    routes(router, context) {
      router.postWithoutCsrf(path(context, ':uid'), async (ctx) => {
        const interaction = await context.signIn.interactions.load(ctx);
        if (!interaction) return;
        const fields = await fieldsOf(ctx);
        if (!context.http.csrf.check(ctx, interaction.uid, fields.get('csrf'))) return ctx.throw(403);
        const target = await posted(fields.get(field) ?? '', ctx, interaction, context);
        if (target === undefined) return show(context, ctx, interaction);
        ctx.status = 303;
        return ctx.redirect(target);
      });
    },
  };
}

/** Returns an extension with terms that the user accepts once. Impersonators cannot accept terms. */
export const terms = (accepted: Set<string>, more: Partial<Requirement> = {}): Extension =>
  requirementStep({
    requirement: {
      name: 'terms',
      after: ['factor'],
      error: 'interaction_required',
      silent: 'refuse',
      check: (_account, { oid }) => (accepted.has(oid) ? 'met' : 'open'),
      ...more,
    },
    field: 'decision',
    async posted(value, ctx, interaction, { signIn: { interactions } }) {
      if (value === 'accept' && interaction.requirement === 'terms') accepted.add(interaction.oid ?? '');
      return interactions.goOn(ctx, interaction);
    },
  });

/** Returns an extension with a second factor: the word `open`. */
export const secondFactor = (more: Partial<Requirement> = {}): Extension =>
  requirementStep({
    requirement: { name: 'factor', serves: 'mfa', error: 'interaction_required', silent: 'refuse', check: () => 'met', ...more },
    field: 'word',
    posted: async (value, ctx, interaction, { signIn: { interactions } }) =>
      value === 'open' ? interactions.strengthen(ctx, interaction, ['mfa']) : undefined,
  });
