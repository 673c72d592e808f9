/** Form of the password page: signs the user in, or leads to the choice of an organisation. */
import type { Context } from 'koa';
import {
  type Account,
  type ExtensionContext,
  formField,
  type Interaction,
  longFieldOf,
  passwordField,
} from '../../../lib/extension-door.js';
import type { Attempts } from '../attempts.js';
import { createPasswordAttempt } from '../password-attempt.js';
import type { PageView } from '../view-models.js';
import type { createIdentifySteps } from './identify.js';
import type { createOrganisationStep } from './organisation.js';
import type { Steps } from './steps.js';

/** Maximum characters of the name with which a user signs in. */
export const LONGEST_IDENTIFIER = 320;
const LONGEST_ORGANISATION = 200;

interface PasswordParts {
  readonly attempts: Attempts;
  readonly steps: Steps;
  readonly identify: ReturnType<typeof createIdentifySteps>;
  readonly organisation: ReturnType<typeof createOrganisationStep>;
}

export function createPasswordStep(context: ExtensionContext, { attempts, steps, identify, organisation }: PasswordParts) {
  const { directory } = context;
  const { page, signIn } = steps;
  const tryPassword = createPasswordAttempt(context, attempts);

  /** Returns the accounts that the password and their account links sign in to now. */
  async function admitted(accounts: readonly Account[]): Promise<readonly Account[]> {
    const isAdmitted = await Promise.all(accounts.map((account) => directory.means.admits(account, { kind: 'password' })));
    return accounts.filter((_, index) => isAdmitted[index]);
  }

  /** Shows the form again because a field is too long. */
  async function refill(ctx: Context, interaction: Interaction): Promise<void> {
    const identifier = formField(ctx, 'identifier', LONGEST_IDENTIFIER).trim();
    if (identifier === '') return identify.askIdentifier(ctx, interaction);
    const asked = longFieldOf(ctx)?.typed('organisation') === undefined ? {} : { organisation: '' };
    return page(ctx, interaction, identify.passwordView(ctx, interaction, identifier, asked));
  }

  async function take(ctx: Context, interaction: Interaction): Promise<void> {
    const postedAt = new Date(context.service.now());
    const identifier = formField(ctx, 'identifier', LONGEST_IDENTIFIER).trim();
    const password = passwordField(ctx, 'password');
    if (identifier === '') return identify.askIdentifier(ctx, interaction, { problem: 'identifier.missing' }, 400);
    const named = formField(ctx, 'organisation', LONGEST_ORGANISATION).trim();
    const again = (status: number, more: Partial<PageView<'password'>>) => {
      const view = identify.passwordView(ctx, interaction, identifier, { ...(named === '' ? {} : { organisation: named }), ...more });
      return page(ctx, interaction, view, status);
    };
    if (password === '') return again(400, { problem: 'password.missing' });

    const outcome = await tryPassword(ctx, interaction, { identifier, password, organisation: named });
    if ('refused' in outcome) {
      if (outcome.refused === 'attempts.exceeded') return again(429, { problem: 'attempts.exceeded', minutes: outcome.minutes });
      ctx.set('Retry-After', String(outcome.retryAfterSeconds));
      return again(503, { problem: 'busy' });
    }
    const accounts = await admitted(outcome.accounts);
    const [account, ...others] = accounts;
    if (!account && outcome.accounts.length > 0) return again(403, { problem: 'account.unconfirmed' });
    if (!account) return again(400, { problem: 'credentials.mismatch', organisation: named });
    if (others.length > 0) return page(ctx, interaction, await organisation.view(ctx, interaction, accounts, postedAt));
    return signIn(ctx, interaction, account.person.user.id, await directory.credentials.proofOf(account, postedAt));
  }

  return { take, refill };
}
