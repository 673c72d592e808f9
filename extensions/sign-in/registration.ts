/** Accounts that people create for themselves, in the one tenant that the sign-in is for. */
import type { Context } from 'koa';
import { IdpError } from '../../lib/errors.js';
import type { ExtensionContext, Interaction } from '../../lib/extension.js';
import { type Attempts, turnsOf } from './attempts.js';
import { field, type Steps } from './steps.js';
import type { PageView, RegistrationProblem } from './view-models.js';

/** The problem that a refused record comes to, by the field at fault. */
const problems: Readonly<Record<string, RegistrationProblem>> = {
  '/givenName': 'givenName.missing',
  '/familyName': 'familyName.missing',
  '/email': 'email.invalid',
  '/userName': 'email.invalid',
  '/password': 'password.weak',
};

export function createRegistrationStep(
  { directory, interactions }: ExtensionContext,
  attempts: Attempts,
  { page, form, url, goOn }: Steps,
) {
  const serviceOf = ({ tids: [tid, ...others] = [] }: Interaction) =>
    tid !== undefined && others.length === 0 ? directory.forTenant(tid).registration : undefined;

  const show = async (ctx: Context, interaction: Interaction, more: Partial<PageView<'create'>> = {}, status = 200): Promise<boolean> => {
    const rules = await serviceOf(interaction)?.rules();
    if (!rules) return false;
    const view = { page: 'create', ...form(ctx, interaction, '/create'), signIn: `${url(interaction)}?restart=yes`, ...rules, ...more };
    await page(ctx, interaction, view as PageView<'create'>, status);
    return true;
  };

  return {
    /** False where people may not. */
    show,

    /** Creates the account and signs it in. */
    async create(ctx: Context, interaction: Interaction): Promise<void> {
      const [givenName = '', familyName = '', email = ''] = ['givenName', 'familyName', 'email'].map((name) => field(ctx, name).trim());
      const refused = async (more: Partial<PageView<'create'>>, status: number): Promise<void> => {
        if (!(await show(ctx, interaction, { givenName, familyName, email, ...more } as Partial<PageView<'create'>>, status)))
          goOn(ctx, `${url(interaction)}?restart=yes`);
      };
      const service = interaction.prompt === 'create' ? serviceOf(interaction) : undefined;
      if (!service) return goOn(ctx, url(interaction));
      const name = directory.accounts.nameKey(email);
      const attempt = await attempts.begin(name, ctx.ip);
      if (attempt.minutes !== undefined) return refused({ problem: 'attempts.exceeded', minutes: attempt.minutes }, 429);
      try {
        const person = await service.register({ givenName, familyName, email, password: field(ctx, 'password') }, turnsOf(ctx.ip, name));
        goOn(ctx, await interactions.signIn(ctx, interaction, { oid: person.user.id, amr: ['pwd'], idp: 'local' }));
      } catch (error) {
        const problem = problemOf(error);
        if (!problem) throw error;
        if (problem === 'busy') {
          await attempt.withdrawn();
          ctx.set('Retry-After', String((error as IdpError).details.retryAfterSeconds));
        }
        await refused({ problem }, problem === 'busy' ? 503 : 400);
      }
    },
  };
}

function problemOf(error: unknown): Exclude<RegistrationProblem, 'attempts.exceeded'> | undefined {
  if (!(error instanceof IdpError)) return undefined;
  if (error.code === 'busy') return 'busy';
  if (error.code === 'user_name_taken') return 'email.taken';
  return error.code === 'invalid_record' ? (problems[String(error.details.path)] as ReturnType<typeof problemOf>) : undefined;
}
