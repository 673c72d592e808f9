/** First factor of a user: the page that sets it up at a sign-in that requires a factor. */
import type { Context } from 'koa';
import {
  attributionOf,
  type ExtensionContext,
  type ExtensionRouter,
  RECENT_SIGN_IN_SECONDS,
  redirectByGet,
  type Text,
} from '../../lib/extension-door.js';
import type { Enrolment, Setup } from './enrolment.js';
import { passkeyScript } from './passkeys/script.js';
import { signInName } from './records.js';
import type { Step, Steps } from './step.js';

interface Problem {
  readonly text: Text;
  /** Whether the problem belongs to the field for the code. */
  readonly isOfField?: true;
  readonly status: number;
}

interface Parts {
  readonly context: ExtensionContext;
  readonly steps: Steps;
  readonly enrolment: Enrolment;
}

export class FirstFactor {
  readonly #context: ExtensionContext;
  readonly #steps: Steps;
  readonly #enrolment: Enrolment;

  constructor({ context, steps, enrolment }: Parts) {
    this.#context = context;
    this.#steps = steps;
    this.#enrolment = enrolment;
  }

  routes(router: ExtensionRouter, base: string): void {
    const again = (ctx: Context, step: Step) => this.show(ctx, step, { text: 'factors.foreign', status: 403 });
    router.postForm(
      `${base}/factors/enrol`,
      this.#steps.posted(again, (ctx, step) => this.#take(ctx, step, 'addApp')),
    );
    router.postForm(
      `${base}/factors/enrol-passkey`,
      this.#steps.posted(again, (ctx, step) => this.#take(ctx, step, 'addPasskey')),
    );
  }

  async show(ctx: Context, step: Step, problem?: Problem): Promise<void> {
    if (!this.#isFresh(step)) return this.#signInAgain(ctx, step);
    const { interaction } = step;
    const setup = await this.#setupOf(step);
    const action = this.#steps.urlOf(interaction, '/factors/enrol-passkey');
    const passkey = this.#enrolment.passkeyPart(setup, action, 'factors.kind.passkey');
    const app = await this.#enrolment.appParts(setup, problem?.isOfField && problem.text);
    await this.#context.pages.view(ctx, {
      interaction,
      title: 'factors.enrol.title',
      ...(passkey && { lead: 'factors.enrol.lead' }),
      ...(problem && { status: problem.status, ...(!problem.isOfField && { problem: problem.text }) }),
      form: { action: this.#steps.urlOf(interaction, '/factors/enrol') },
      // The script shows the passkey, and closes the app, in a browser that has passkeys.
      parts: [
        ...(passkey
          ? [passkey, { part: 'details', title: 'factors.kind.totp', line: 'factors.app.about', isOpen: true, parts: app } as const]
          : app),
        { part: 'text', text: 'factors.enrol.ends' },
      ],
      ...(passkey && { script: passkeyScript }),
    });
  }

  async #take(ctx: Context, step: Step, add: 'addApp' | 'addPasskey'): Promise<void> {
    const proven = await this.#steps.provenIn(step);
    const setup = await this.#setupOf(step);
    // A user who has a factor must prove it: this page is for users without one.
    if (proven !== undefined || (step.factors.isEnrolled && !(await this.#enrolment.wasAdded(setup))))
      return redirectByGet(ctx, this.#steps.urlOf(step.interaction));
    if (!this.#isFresh(step)) return this.#signInAgain(ctx, step);
    const outcome = await this.#enrolment[add](ctx, setup);
    if ('problem' in outcome) {
      const { problem: text, isOfField } = outcome;
      return this.show(ctx, step, { text, ...(isOfField && { isOfField }), status: 400 });
    }
    return this.#steps.prove(ctx, step, outcome);
  }

  async #setupOf({ owner, factors, key, account, interaction }: Step): Promise<Setup> {
    const { session, authTime = 0, signedInBy = { idp: 'local' } } = interaction;
    return {
      owner,
      factors,
      key,
      added: {
        by: attributionOf({ oid: account.person.user.id }),
        isFirst: !factors.isEnrolled,
        vouchedBy: await this.#context.directory.means.ofSignIn(signedInBy, owner),
        ...(session !== undefined && { session, addedIn: signInName(session, authTime) }),
      },
    };
  }

  /** Returns whether the sign-in is recent enough to set up a factor. An attacker with an older session must not add a factor. */
  #isFresh({ interaction: { authTime = 0 } }: Step): boolean {
    return this.#context.service.now() / 1000 - authTime <= RECENT_SIGN_IN_SECONDS;
  }

  async #signInAgain(ctx: Context, { interaction }: Step): Promise<void> {
    const { interactions } = this.#context.signIn;
    const target = await interactions.restart(ctx, interaction.uid, 'login');
    redirectByGet(ctx, target ?? (await interactions.abort(ctx, interaction)));
  }
}
