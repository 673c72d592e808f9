/** The second factor at a sign-in: a code, a passkey, or a recovery code. */
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { Context } from 'koa';
import {
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  present,
  redirectByGet,
  type Text,
  type ViewPart,
} from '../../lib/extension-door.js';
import type { Enrolled } from './enrolled.js';
import { createGuesses, type Guess } from './guesses.js';
import { passkeyScript } from './passkeys/script.js';
import { readAnswer, type Webauthn } from './passkeys/webauthn.js';
import type { FactorRow } from './records.js';
import type { Step, Steps } from './step.js';

interface Problem {
  /** The field that is wrong; absent: the form as a whole. */
  readonly field?: 'code' | 'recovery';
  readonly text: Text;
  readonly status: number;
  /** No more codes are accepted in this sign-in; `code`: no more codes of the app. */
  readonly over?: 'challenge' | 'code';
}

type OpenGuess = Extract<Guess, { readonly succeeded: unknown }>;

/** Recovery codes that are few enough to say so. */
const FEW = 3;

export const passkeysOf = (rows: readonly FactorRow[]) => rows.flatMap(({ passkey }) => passkey ?? []);

export function createChallenge(
  context: ExtensionContext,
  { enrolled, steps, webauthn }: { enrolled: Enrolled; steps: Steps; webauthn: Webauthn | undefined },
) {
  const {
    pages: { view },
    service: { logger },
    http: { requestId },
  } = context;
  const guesses = createGuesses(context);
  const subjectOf = ({ interaction, owner }: Step): string => `second ${interaction.uid} ${interaction.browser} ${owner.person.user.id}`;

  async function show(ctx: Context, step: Step, problem?: Problem): Promise<void> {
    const { interaction, own } = step;
    const link = (to: string): string => `${steps.at(interaction)}?with=${to}`;
    const wanted = problem?.field ?? (ctx.query.with === 'recovery' ? 'recovery' : 'code');
    const asksCode = wanted === 'code' && own.totp !== undefined && problem?.over === undefined;
    const asksRecovery = wanted === 'recovery';
    // A factor that cannot be read counts as a factor that nobody can prove.
    const unreadable = own.unreadable.length > 0 ? 'factors.challenge.unreadable' : undefined;
    const general = problem && problem.field === undefined ? problem.text : unreadable;
    const hasPasskeys = webauthn !== undefined && own.passkeys.length > 0;
    const lead = asksRecovery
      ? 'factors.challenge.recoveryLead'
      : asksCode
        ? 'factors.challenge.codeLead'
        : hasPasskeys
          ? 'factors.challenge.passkeyLead'
          : undefined;
    const parts: ViewPart[] = [];
    const field = (name: 'code' | 'recovery', kind: 'code' | 'text'): ViewPart => ({
      part: 'field',
      name,
      label: `factors.challenge.${name}`,
      kind,
      ...(problem?.field === name ? { problem: problem.text } : {}),
    });
    const again: ViewPart = { part: 'link', text: 'factors.challenge.again', href: steps.at(interaction, '/restart') };
    if (problem?.over !== 'challenge') {
      if (asksCode || asksRecovery) {
        parts.push(asksCode ? field('code', 'code') : field('recovery', 'text'));
        parts.push({ part: 'button', text: 'factors.challenge.submit' });
      }
      if (webauthn && hasPasskeys && !asksRecovery) {
        const value = JSON.stringify({
          url: steps.at(interaction, '/factors/passkey'),
          options: webauthn.asked(subjectOf(step), passkeysOf(own.passkeys), 'preferred'),
        });
        parts.push({
          part: 'action',
          text: 'factors.challenge.passkey',
          action: 'passkey',
          value,
          ...(asksCode ? { look: 'quiet' as const } : {}),
        });
        if (!asksCode) parts.push({ part: 'text', text: 'factors.passkey.script', isForNoScript: true });
      }
      if (asksRecovery) parts.push({ part: 'link', text: 'factors.challenge.other', href: link('code') });
      else if (own.recovery) parts.push({ part: 'link', text: 'factors.challenge.useRecovery', href: link('recovery') });
    }
    if (problem?.over !== undefined || parts.length === 0) parts.push(again);
    await view(ctx, {
      interaction,
      title: 'factors.challenge.title',
      ...present({ lead, problem: general }),
      ...(problem ? { status: problem.status } : {}),
      form: { action: steps.at(interaction, '/factors/code') },
      parts,
      ...(hasPasskeys ? { script: passkeyScript } : {}),
    });
  }

  const refused = (ctx: Context, { interaction, account }: Step, reason: string): void =>
    logger.info({ requestId: requestId(ctx), reason, client: interaction.client.id, tenant: account.tenant.id }, 'second factor refused');

  /** Whether the step was taken before: a form that is sent twice is answered like the first. */
  async function wasProven(ctx: Context, step: Step): Promise<boolean> {
    const before = await steps.provenIn(step);
    if (before === 'done') await steps.strengthen(ctx, step);
    else if (before !== undefined) redirectByGet(ctx, steps.at(step.interaction));
    return before !== undefined;
  }

  async function takeCode(ctx: Context, step: Step): Promise<void> {
    if (await wasProven(ctx, step)) return;
    const [name, typed] =
      formField(ctx, 'recovery') === '' ? (['code', formField(ctx, 'code')] as const) : (['recovery', formField(ctx, 'recovery')] as const);
    const field = name === 'code' && step.own.totp ? 'code' : 'recovery';
    if (typed.trim() === '') return show(ctx, step, { field, text: `factors.challenge.${field}Missing`, status: 400 });
    const attempt = await guesses.begin(step.interaction.uid, step.owner, name);
    if ('isOver' in attempt) {
      refused(ctx, step, 'challenge over');
      return show(ctx, step, { text: 'factors.challenge.over', status: 429, over: 'challenge' });
    }
    if ('minutes' in attempt) {
      refused(ctx, step, 'too many codes');
      const text = { key: 'factors.challenge.often', values: { minutes: String(attempt.minutes) } };
      return show(ctx, step, { text, status: 429, over: name === 'code' ? 'code' : 'challenge' });
    }
    return name === 'recovery' ? takeRecoveryCode(ctx, step, typed, attempt) : takeAppCode(ctx, step, typed, attempt);
  }

  async function takeRecoveryCode(ctx: Context, step: Step, typed: string, guess: OpenGuess): Promise<void> {
    const left = await guess.check(() => enrolled.recoveryCodes.use(step.owner, step.own, typed));
    if (left === undefined) {
      refused(ctx, step, 'wrong recovery code');
      await guess.failed();
      return show(ctx, step, { field: 'recovery', text: 'factors.challenge.recoveryWrong', status: 400 });
    }
    await guess.succeeded();
    return steps.prove(ctx, step, left <= FEW ? { left } : {});
  }

  async function takeAppCode(ctx: Context, step: Step, typed: string, guess: OpenGuess): Promise<void> {
    const outcome = await guess.check(() => enrolled.useTotp(step.owner, step.own, typed));
    if (outcome !== 'right') {
      refused(ctx, step, `${outcome} code`);
      await guess.failed();
      return show(ctx, step, { field: 'code', text: `factors.challenge.code${outcome === 'wrong' ? 'Wrong' : 'Reused'}`, status: 400 });
    }
    await guess.succeeded();
    return steps.prove(ctx, step);
  }

  async function takePasskey(ctx: Context, step: Step): Promise<void> {
    if (await wasProven(ctx, step)) return;
    const given = readAnswer<AuthenticationResponseJSON>(ctx);
    const row = given && webauthn && (await enrolled.passkeyOf(step.owner, given.credentialId));
    const counter = row && (await webauthn.verify(given, subjectOf(step), row.passkey, false));
    const isCounted = step.own.passkeys.some(({ id }) => id === row?.id);
    if (!row || !isCounted || counter === undefined || !(await enrolled.usePasskey(step.owner, row, counter))) {
      refused(ctx, step, 'wrong passkey');
      return show(ctx, step, { text: 'factors.passkey.wrong', status: 400 });
    }
    return steps.prove(ctx, step);
  }

  function routes(router: ExtensionRouter, base: string): void {
    const foreign = (ctx: Context, step: Step) => show(ctx, step, { text: 'factors.foreign', status: 403 });
    router.postForm(`${base}/factors/code`, steps.posted(foreign, takeCode));
    router.postForm(`${base}/factors/passkey`, steps.posted(foreign, takePasskey));
  }

  return { show, routes };
}
