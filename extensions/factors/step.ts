/** A sign-in that waits for a second factor: whose it is, and what was proven in it. */
import type { Context } from 'koa';
import { type Account, type ExtensionContext, type Interaction, type PostForm, redirectByGet } from '../../lib/extension-door.js';
import type { FactorSet } from './factor-rows.js';
import { provenSignIns, seenSignIns } from './records.js';
import type { UserFactors } from './user-factors.js';

/** The name of the requirement. */
export const REQUIREMENT = 'second-factor';

export interface Step {
  readonly interaction: Interaction;
  readonly account: Account;
  /** Whose factors they are. */
  readonly owner: Account;
  readonly factors: FactorSet;
  /** Names the sign-in: another one of the same browser, or of another account, proves nothing for it. */
  readonly key: string;
}

/** What is still to be shown to who proved a factor. */
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

  /** Goes on with the sign-in, to which the factor belongs now; anew where it is over. */
  async function strengthen(ctx: Context, { interaction }: Step): Promise<void> {
    const target = await interactions.strengthen(ctx, interaction, ['mfa']);
    redirectByGet(ctx, target ?? (await interactions.restart(ctx, interaction.uid)) ?? urlOf(interaction));
  }

  return {
    urlOf,
    load,
    strengthen,

    /** Returns the route of a step's form. No step belongs to an impersonated sign-in, so an impersonator is sent back to the sign-in. */
    posted: (again: PostForm<Step>['again'], take: PostForm<Step>['take']): PostForm<Step> => ({
      whileImpersonating: true,
      async open(ctx) {
        const interaction = await interactions.load(ctx);
        const step = interaction && (await load(interaction));
        // Another page's turn: nothing that is posted here counts.
        if (interaction && !step) redirectByGet(ctx, urlOf(interaction));
        return step;
      },
      subject: ({ interaction }) => interaction.uid,
      again,
      take,
    }),

    /** What was proven in this sign-in and is still to be shown; `done` where nothing is. */
    async provenIn(step: Step): Promise<Proven | 'done' | undefined> {
      const proof = (await artifact(provenSignIns).read(step.key)) as Proven | undefined;
      if (!proof) return undefined;
      return (proof.codes === undefined && proof.left === undefined) || (await isSeen(step)) ? 'done' : proof;
    },

    /** Keeps that a factor was proven; the first to say so is believed. */
    async prove(ctx: Context, step: Step, what: Proven = {}): Promise<void> {
      await artifact(provenSignIns).put(step.key, what);
      if (what.codes === undefined && what.left === undefined) return strengthen(ctx, step);
      redirectByGet(ctx, urlOf(step.interaction));
    },

    /** The person has seen what there was to see. */
    async saw(ctx: Context, step: Step): Promise<void> {
      if (await artifact(provenSignIns).read(step.key)) await artifact(seenSignIns).put(step.key, {});
      redirectByGet(ctx, urlOf(step.interaction));
    },
  };
}

export type Steps = ReturnType<typeof createSteps>;
