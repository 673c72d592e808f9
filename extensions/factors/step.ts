/** A sign-in that waits for a second factor: whose it is, and what was proven in it. */
import type { Context } from 'koa';
import { type Account, type ExtensionContext, type Interaction, type PostForm, redirectByGet } from '../../lib/extension-door.js';
import type { Enrolled } from './enrolled.js';
import type { OwnFactors } from './factor-rows.js';
import { proven, seen } from './records.js';

/** The name of the requirement. */
export const REQUIREMENT = 'second-factor';

export interface Step {
  readonly interaction: Interaction;
  readonly account: Account;
  /** Whose factors they are. */
  readonly owner: Account;
  readonly own: OwnFactors;
  /** Names the sign-in: another one of the same browser, or of another account, proves nothing for it. */
  readonly key: string;
}

/** What is still to be shown to who proved a factor. */
export interface Proven {
  readonly codes?: readonly string[];
  readonly left?: number;
}

export function createSteps(context: ExtensionContext, enrolled: Enrolled) {
  const {
    service: { own, url },
    signIn: { interactions },
    directory,
    records: { artifact },
  } = context;
  const at = ({ uid }: Interaction, path = ''): string => url(`${own}/interaction/${uid}${path}`);

  async function of(interaction: Interaction): Promise<Step | undefined> {
    const { uid, oid, authTime, act } = interaction;
    if (interaction.requirement !== REQUIREMENT || oid === undefined || act) return undefined;
    const account = await directory.accounts.findByOid(oid);
    const owner = account && enrolled.ownerOf(account, interaction);
    return account && owner && { interaction, account, owner, own: await enrolled.load(owner), key: `${uid} ${oid} ${authTime}` };
  }

  const isSeen = async ({ key }: Step): Promise<boolean> => (await artifact(seen).read(key)) !== undefined;

  /** Goes on with the sign-in, to which the factor belongs now; anew where it is over. */
  async function strengthen(ctx: Context, { interaction }: Step): Promise<void> {
    const target = await interactions.strengthen(ctx, interaction, ['mfa']);
    redirectByGet(ctx, target ?? (await interactions.restart(ctx, interaction.uid)) ?? at(interaction));
  }

  return {
    at,
    of,
    strengthen,

    /** Returns the route of a step's form. No step belongs to an impersonated sign-in, so an impersonator is sent back to the sign-in. */
    posted: (again: PostForm<Step>['again'], take: PostForm<Step>['take']): PostForm<Step> => ({
      whileImpersonating: true,
      async open(ctx) {
        const interaction = await interactions.load(ctx);
        const step = interaction && (await of(interaction));
        // Another page's turn: nothing that is posted here counts.
        if (interaction && !step) redirectByGet(ctx, at(interaction));
        return step;
      },
      subject: ({ interaction }) => interaction.uid,
      again,
      take,
    }),

    /** What was proven in this sign-in and is still to be shown; `done` where nothing is. */
    async provenIn(step: Step): Promise<Proven | 'done' | undefined> {
      const found = (await artifact(proven).read(step.key)) as Proven | undefined;
      if (!found) return undefined;
      return (found.codes === undefined && found.left === undefined) || (await isSeen(step)) ? 'done' : found;
    },

    /** Keeps that a factor was proven; the first to say so is believed. */
    async prove(ctx: Context, step: Step, what: Proven = {}): Promise<void> {
      await artifact(proven).put(step.key, what);
      if (what.codes === undefined && what.left === undefined) return strengthen(ctx, step);
      redirectByGet(ctx, at(step.interaction));
    },

    /** The person has seen what there was to see. */
    async saw(ctx: Context, step: Step): Promise<void> {
      if (await artifact(proven).read(step.key)) await artifact(seen).put(step.key, {});
      redirectByGet(ctx, at(step.interaction));
    },
  };
}

export type Steps = ReturnType<typeof createSteps>;
