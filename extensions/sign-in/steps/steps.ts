/** Common part of every step of a sign-in: its page, its form, and where the sign-in continues. */
import type { Context } from 'koa';
import { type ExtensionContext, type Interaction, type PostForm, type Proof, present, redirectByGet } from '../../../lib/extension-door.js';
import { type Addition, type Surroundings, show } from '../show.js';
import type { PageName, PageView } from '../view-models.js';

export type Steps = ReturnType<typeof createSteps>;

export function createSteps(context: ExtensionContext) {
  const {
    service: { own, logger },
    signIn: { interactions },
    directory,
    http: { csrf },
  } = context;
  const url = ({ uid }: Interaction, step = ''): string => context.service.url(`${own}/interaction/${uid}${step}`);

  const additionsTo = async (interaction: Interaction): Promise<readonly Addition[]> => {
    const all = context.pages.additions.map(async ({ name, place = 'foot' as const, text, href: given, values: valuesOf }) => {
      const values = valuesOf ? await valuesOf(interaction) : {};
      const href = typeof given === 'function' ? given(interaction, context) : given;
      const isShown = values !== undefined && (given === undefined || href !== undefined);
      return isShown ? [{ name, place, text, values, ...present({ href }) }] : [];
    });
    return (await Promise.all(all)).flat();
  };

  const surroundings = async (interaction: Interaction): Promise<Surroundings> => {
    const { client, parameters, tids } = interaction;
    const [only, ...others] = tids ?? [];
    const tenant = only !== undefined && others.length === 0 ? await directory.tenants.get(only) : undefined;
    return {
      client,
      tenant,
      uiLocales: parameters.ui_locales,
      signInPath: new URL(url(interaction)).pathname,
      additions: await additionsTo(interaction),
    };
  };

  /** Logs a refusal without the account, because users type passwords into the field for the name. */
  const refused = (ctx: Context, { client }: Interaction, reason: string, tenant?: string): void =>
    logger.info({ requestId: context.http.requestId(ctx), reason, client: client.id, tenant }, 'sign-in refused');

  return {
    /** Path at which all steps start. */
    base: `${own}/interaction/:uid`,
    url,
    surroundings,
    /** Returns the members that each form has. */
    form: (ctx: Context, interaction: Interaction, step: string) => ({
      action: url(interaction, step),
      csrf: csrf.token(ctx, interaction.uid),
      ...(interaction.isAnswerable ? { cancel: url(interaction, '/cancel') } : {}),
    }),

    async page<Name extends PageName>(ctx: Context, interaction: Interaction, view: PageView<Name>, status = 200): Promise<void> {
      ctx.status = status;
      const environment = await surroundings(interaction);
      const { problem } = view as { readonly problem?: string };
      if (problem !== undefined) refused(ctx, interaction, problem, environment.tenant?.id);
      await show(ctx, context, view, environment);
    },

    /** Signs the user of the password in. Restarts at the identifier if the proof has expired. */
    async signIn(ctx: Context, interaction: Interaction, oid: string, proof: Proof): Promise<void> {
      const target = await interactions.signIn(ctx, interaction, { oid, amr: ['pwd'], idp: 'local', proof });
      redirectByGet(ctx, target ?? `${url(interaction)}?restart=yes`);
    },

    /**
     * Returns the route of a step's form. A step also works during an impersonation, so that an impersonator can sign in to the application.
     * @param refill shows the form again. Only a form into which users type needs `refill`.
     */
    posted: (take: PostForm<Interaction>['take'], refill?: PostForm<Interaction>['take']): PostForm<Interaction> => ({
      whileImpersonating: true,
      open: (ctx) => interactions.load(ctx),
      subject: ({ uid }) => uid,
      async again(ctx, interaction) {
        ctx.status = 403;
        refused(ctx, interaction, 'csrf');
        await show(ctx, context, { page: 'error', code: 'invalid_request', restart: url(interaction) }, await surroundings(interaction));
      },
      take,
      ...present({ refill }),
    }),
  };
}
