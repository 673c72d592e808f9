/** Step of a sign-in that waits for a second factor: its user, and the factor that was proven in it. */
import type { Context } from 'koa';
import { type Account, type ExtensionContext, type Interaction, type PostForm, redirectByGet } from '../../lib/extension-door.js';
import type { FactorSet } from './factor-rows.js';
import { provenSignIns, seenSignIns } from './records.js';
import type { UserFactors } from './user-factors.js';

export const REQUIREMENT = 'second-factor';

export interface Step {
  readonly interaction: Interaction;
  readonly account: Account;
  /** User to whom the factors belong. */
  readonly owner: Account;
  readonly factors: FactorSet;
  /** Name of the sign-in. A proof in another sign-in of the browser, or of another account, does not count for this sign-in. */
  readonly key: string;
}

/** Recovery codes, or the number of codes that are left, which the page shows to a user who proved a factor. */
export interface Proven {
  readonly codes?: readonly string[];
  readonly left?: number;
}

export function createSteps(context: ExtensionContext, userFactors: UserFactors) {
  const {
    service: { own, url },
    signIn: { interactions },
    directory,
    records: { artifact },
  } = context;
  const urlOf = ({ uid }: Interaction, path = ''): string => url(`${own}/interaction/${uid}${path}`);

  async function load(interaction: Interaction): Promise<Step | undefined> {
    const { uid, oid, authTime, act } = interaction;
    if (interaction.requirement !== REQUIREMENT || oid === undefined || act) return undefined;
    const account = await directory.accounts.findByOid(oid);
    const owner = account && userFactors.ownerOf(account, interaction);
    return account && owner && { interaction, account, owner, factors: await userFactors.load(owner), key: `${uid} ${oid} ${authTime}` };
  }

  const isSeen = async ({ key }: Step): Promise<boolean> => (await artifact(seenSignIns).read(key)) !== undefined;

  /** Adds `mfa` to the sign-in and redirects to it. Restarts the sign-in if it has expired. */
  async function strengthen(ctx: Context, { interaction }: Step): Promise<void> {
    const target = await interactions.strengthen(ctx, interaction, ['mfa']);
    redirectByGet(ctx, target ?? (await interactions.restart(ctx, interaction.uid)) ?? urlOf(interaction));
  }

  return {
    urlOf,
    load,
    strengthen,

    /** Returns the route of a step's form. An impersonated sign-in has no step, so an impersonator is redirected to the sign-in. */
    posted: (again: PostForm<Step>['again'], take: PostForm<Step>['take']): PostForm<Step> => ({
      whileImpersonating: true,
      async open(ctx) {
        const interaction = await interactions.load(ctx);
        const step = interaction && (await load(interaction));
        // The sign-in waits for another page, so the posted form does not count.
        if (interaction && !step) redirectByGet(ctx, urlOf(interaction));
        return step;
      },
      subject: ({ interaction }) => interaction.uid,
      again,
      take,
    }),

    /**
     * Returns the codes or the count that are still to be shown after a proof. Returns `done` if there is nothing to show, and undefined without a proof.
     */
    async provenIn(step: Step): Promise<Proven | 'done' | undefined> {
      const proof = (await artifact(provenSignIns).read(step.key)) as Proven | undefined;
      if (!proof) return undefined;
      return (proof.codes === undefined && proof.left === undefined) || (await isSeen(step)) ? 'done' : proof;
    },

    /** Records that a factor was proven. Only the first of concurrent proofs is recorded. */
    async prove(ctx: Context, step: Step, what: Proven = {}): Promise<void> {
      await artifact(provenSignIns).put(step.key, what);
      if (what.codes === undefined && what.left === undefined) return strengthen(ctx, step);
      redirectByGet(ctx, urlOf(step.interaction));
    },

    /** Records that the user has seen the codes or the count. */
    async saw(ctx: Context, step: Step): Promise<void> {
      if (await artifact(provenSignIns).read(step.key)) await artifact(seenSignIns).put(step.key, {});
      redirectByGet(ctx, urlOf(step.interaction));
    },
  };
}

export type Steps = ReturnType<typeof createSteps>;
