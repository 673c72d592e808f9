/** The requirement that serves the demand `mfa`: the challenge for who has a factor, enrolment for who has none. */
import type { Context } from 'koa';
import {
  attributionOf,
  type ExtensionContext,
  type ExtensionRouter,
  type Requirement,
  redirectByGet,
  type Text,
} from '../../lib/extension-door.js';
import { createChallenge } from './challenge.js';
import { codesScript } from './codes-script.js';
import type { Enrolled } from './enrolled.js';
import { createEnrolment, type Enrolling } from './enrolment.js';
import { passkeyScript } from './passkeys/script.js';
import type { Webauthn } from './passkeys/webauthn.js';
import { signInName } from './records.js';
import { createSteps, REQUIREMENT, type Step } from './step.js';

/** Seconds since the sign-in within which a first factor may be set up: whoever took over an older session gets no factor of their own. */
const FRESH_SECONDS = 600;

export function createSecondFactor(context: ExtensionContext, enrolled: Enrolled, webauthn: Webauthn | undefined) {
  const {
    service: { own },
    signIn: { interactions },
    pages: { view },
  } = context;
  const steps = createSteps(context, enrolled);
  const challenge = createChallenge(context, { enrolled, steps, webauthn });
  const enrolment = createEnrolment(context, enrolled, webauthn);

  const enrollingOf = async ({
    owner,
    own: factors,
    key,
    account,
    interaction: { session, authTime = 0, signedInBy = { idp: 'local' } },
  }: Step): Promise<Enrolling> => ({
    owner,
    own: factors,
    key,
    added: {
      by: attributionOf({ oid: account.person.user.id }),
      isFirst: !factors.isEnrolled,
      vouchedBy: await context.directory.means.ofSignIn(signedInBy, owner),
      ...(session === undefined ? {} : { session, addedIn: signInName(session, authTime) }),
    },
  });

  /** Whether the sign-in is recent enough to set a factor up. */
  const isFresh = ({ interaction: { authTime = 0 } }: Step): boolean => context.service.now() / 1000 - authTime <= FRESH_SECONDS;

  async function signInAgain(ctx: Context, { interaction }: Step): Promise<void> {
    const target = await interactions.restart(ctx, interaction.uid, 'login');
    redirectByGet(ctx, target ?? (await interactions.abort(ctx, interaction)));
  }

  async function showEnrolment(
    ctx: Context,
    step: Step,
    problem?: { readonly text: Text; readonly isOfField?: boolean; readonly status: number },
  ): Promise<void> {
    if (!isFresh(step)) return signInAgain(ctx, step);
    const { interaction } = step;
    const enrolling = await enrollingOf(step);
    const passkey = enrolment.passkeyPart(enrolling, steps.at(interaction, '/factors/enrol-passkey'), 'factors.enrol.passkey');
    await view(ctx, {
      interaction,
      title: 'factors.enrol.title',
      lead: 'factors.enrol.lead',
      ...(problem ? { status: problem.status, ...(problem.isOfField ? {} : { problem: problem.text }) } : {}),
      form: { action: steps.at(interaction, '/factors/enrol') },
      parts: [...(await enrolment.appParts(enrolling, problem?.isOfField ? problem.text : undefined)), ...(passkey ? [passkey] : [])],
      ...(passkey ? { script: passkeyScript } : {}),
    });
  }

  const requirement: Requirement = {
    name: REQUIREMENT,
    serves: 'mfa',
    givesWay: true,
    error: 'interaction_required',
    silent: 'refuse',

    /**
     * Asks users who have a factor for it at each sign-in with the password, also where nobody else asks, because a stolen password would do otherwise.
     * A request that prefers a second factor asks them after every other sign-in too, except where it allows no page.
     */
    check(account, signedIn, { isSilent, acr, parameters }) {
      if (isSilent || signedIn.act || signedIn.amr.includes('mfa')) return 'met';
      const isPreferred = acr.prefersMfa && parameters.prompt !== 'none';
      if (signedIn.idp !== 'local' && !isPreferred) return 'met';
      const asks = enrolled.asks(account, signedIn, isPreferred);
      return asks === false ? 'met' : Promise.resolve(asks).then((asked) => (asked ? 'open' : 'met'));
    },

    async mayChange(account, signedIn) {
      const owner = enrolled.ownerOf(account, signedIn);
      return owner !== undefined && enrolled.isProvenIn(await enrolled.load(owner), signedIn);
    },

    async show(ctx, interaction) {
      const step = await steps.of(interaction);
      // Nobody proves a factor in the name of somebody else.
      if (!step) return redirectByGet(ctx, await interactions.abort(ctx, interaction));
      const proven = await steps.provenIn(step);
      if (proven === 'done') return steps.strengthen(ctx, step);
      if (proven) {
        const { codes, left = 0 } = proven;
        return view(ctx, {
          interaction,
          title: codes
            ? 'factors.codes.title'
            : { key: left === 1 ? 'factors.left.one' : 'factors.left.title', values: { count: String(left) } },
          form: { action: steps.at(interaction, '/factors/seen') },
          parts: codes
            ? enrolment.codesParts(codes)
            : [
                { part: 'text', text: 'factors.left.text' },
                { part: 'button', text: 'factors.left.submit' },
              ],
          ...(codes ? { script: codesScript } : {}),
        });
      }
      return step.own.isEnrolled ? challenge.show(ctx, step) : showEnrolment(ctx, step);
    },
  };

  const enrol = (add: 'addApp' | 'addPasskey') => async (ctx: Context, step: Step) => {
    const before = await steps.provenIn(step);
    const enrolling = await enrollingOf(step);
    // Who has a factor proves it: this page is for those who have none.
    if (before !== undefined || (step.own.isEnrolled && !(await enrolment.wasAdded(enrolling))))
      return redirectByGet(ctx, steps.at(step.interaction));
    if (!isFresh(step)) return signInAgain(ctx, step);
    const outcome = await enrolment[add](ctx, enrolling);
    if ('problem' in outcome)
      return showEnrolment(ctx, step, { text: outcome.problem, ...(outcome.isOfField ? { isOfField: true } : {}), status: 400 });
    return steps.prove(ctx, step, outcome);
  };

  function routes(router: ExtensionRouter): void {
    const base = `${own}/interaction/:uid`;
    const foreign = (ctx: Context, step: Step) => showEnrolment(ctx, step, { text: 'factors.foreign', status: 403 });
    const toPage = (ctx: Context, step: Step) => redirectByGet(ctx, steps.at(step.interaction));
    challenge.routes(router, base);
    router.postForm(`${base}/factors/enrol`, steps.posted(foreign, enrol('addApp')));
    router.postForm(`${base}/factors/enrol-passkey`, steps.posted(foreign, enrol('addPasskey')));
    router.postForm(`${base}/factors/seen`, steps.posted(toPage, steps.saw));
  }

  return { requirement, routes };
}
