/** Requirement that serves the demand `mfa`: the challenge for users who have a factor, enrolment for users who have none. */
import type { Context } from 'koa';
import { type ExtensionContext, type ExtensionRouter, type Requirement, redirectByGet, type View } from '../../lib/extension-door.js';
import { Challenge } from './challenge.js';
import { codesScript } from './codes-script.js';
import { codesParts, Enrolment } from './enrolment.js';
import { FirstFactor } from './first-factor.js';
import type { Webauthn } from './passkeys/webauthn.js';
import { createSteps, type Proven, REQUIREMENT, type Step } from './step.js';
import type { UserFactors } from './user-factors.js';

export function createSecondFactor(context: ExtensionContext, userFactors: UserFactors, webauthn: Webauthn | undefined) {
  const {
    service: { own },
    signIn: { interactions },
    pages: { view },
  } = context;
  const steps = createSteps(context, userFactors);
  const challenge = new Challenge({ context, userFactors, steps, webauthn });
  const firstFactor = new FirstFactor({ context, steps, enrolment: new Enrolment(context, userFactors, webauthn) });

  const requirement: Requirement = {
    name: REQUIREMENT,
    serves: 'mfa',
    givesWay: true,
    error: 'interaction_required',
    silent: 'refuse',

    /**
     * Asks users who have a factor for it at each sign-in with the password, even if neither client nor tenant requires it. Otherwise a stolen password
     * would be enough. A request that prefers a second factor asks these users after every other kind of sign-in too, except with `prompt=none`.
     */
    check(account, signedIn, { isSilent, acr, parameters }) {
      if (isSilent || signedIn.act || signedIn.amr.includes('mfa')) return 'met';
      const isPreferred = acr.prefersMfa && parameters.prompt !== 'none';
      if (signedIn.idp !== 'local' && !isPreferred) return 'met';
      const asks = userFactors.asks(account, signedIn, isPreferred);
      return asks === false ? 'met' : Promise.resolve(asks).then((asked) => (asked ? 'open' : 'met'));
    },

    async mayChange(account, signedIn) {
      const owner = userFactors.ownerOf(account, signedIn);
      return owner !== undefined && userFactors.isProvenIn(await userFactors.load(owner), signedIn);
    },

    async show(ctx, interaction) {
      const step = await steps.load(interaction);
      // Impersonators prove no factor of the impersonated user.
      if (!step) return redirectByGet(ctx, await interactions.abort(ctx, interaction));
      const proven = await steps.provenIn(step);
      if (proven === 'done') return steps.strengthen(ctx, step);
      if (proven) return view(ctx, { interaction, form: { action: steps.urlOf(interaction, '/factors/seen') }, ...shownOnce(proven) });
      return step.factors.isEnrolled ? challenge.show(ctx, step) : firstFactor.show(ctx, step);
    },
  };

  function routes(router: ExtensionRouter): void {
    const base = `${own}/interaction/:uid`;
    const toPage = (ctx: Context, step: Step) => redirectByGet(ctx, steps.urlOf(step.interaction));
    challenge.routes(router, base);
    firstFactor.routes(router, base);
    router.postForm(`${base}/factors/seen`, steps.posted(toPage, steps.saw));
  }

  return { requirement, routes };
}

/** Returns the page after a proof: new recovery codes, or how many are left. */
function shownOnce({ codes, left = 0 }: Proven): Pick<View, 'title' | 'parts' | 'script'> {
  if (codes) return { title: 'factors.codes.title', parts: codesParts(codes), script: codesScript };
  return {
    title: { key: left === 1 ? 'factors.left.one' : 'factors.left.title', values: { count: String(left) } },
    parts: [
      { part: 'text', text: 'factors.left.text' },
      { part: 'button', text: 'factors.left.submit' },
    ],
  };
}
