/** Second factor at a sign-in: the page that asks for a code, a passkey or a recovery code, and its forms. */
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { Context } from 'koa';
import {
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  longFieldOf,
  present,
  redirectByGet,
  type Text,
  type ViewPart,
} from '../../lib/extension-door.js';
import { type CodeKind, createGuesses, type Guess, type Guesses } from './guesses.js';
import { passkeyScript } from './passkeys/script.js';
import { readAnswer, type Webauthn } from './passkeys/webauthn.js';
import { passkeysOf } from './records.js';
import type { Step, Steps } from './step.js';
import type { UserFactors } from './user-factors.js';

interface Problem {
  /** Field with the problem. Absent if the problem concerns the whole form. */
  readonly field?: CodeKind;
  readonly text: Text;
  readonly status: number;
  /** Attempts that are used up. With `challenge`, the sign-in accepts no more codes. With `code`, no more codes of the app are accepted. */
  readonly exhausted?: 'challenge' | 'code';
}

type OpenGuess = Extract<Guess, { readonly succeeded: unknown }>;

/** Number of unused recovery codes from which the user is warned that few are left. */
const FEW = 3;

interface Parts {
  readonly context: ExtensionContext;
  readonly userFactors: UserFactors;
  readonly steps: Steps;
  readonly webauthn: Webauthn | undefined;
}

export class Challenge {
  readonly #context: ExtensionContext;
  readonly #userFactors: UserFactors;
  readonly #steps: Steps;
  readonly #webauthn: Webauthn | undefined;
  readonly #guesses: Guesses;

  constructor({ context, userFactors, steps, webauthn }: Parts) {
    this.#context = context;
    this.#userFactors = userFactors;
    this.#steps = steps;
    this.#webauthn = webauthn;
    this.#guesses = createGuesses(context);
  }

  routes(router: ExtensionRouter, base: string): void {
    const again = (ctx: Context, step: Step) => this.show(ctx, step, { text: 'factors.foreign', status: 403 });
    router.postForm(
      `${base}/factors/code`,
      this.#steps.posted(again, (ctx, step) => this.#takeCode(ctx, step)),
    );
    router.postForm(
      `${base}/factors/passkey`,
      this.#steps.posted(again, (ctx, step) => this.#takePasskey(ctx, step)),
    );
  }

  async show(ctx: Context, step: Step, problem?: Problem): Promise<void> {
    const { interaction, factors } = step;
    const wanted = problem?.field ?? (ctx.query.with === 'recovery' || longFieldOf(ctx)?.name === 'recovery' ? 'recovery' : 'code');
    const asks = wanted === 'recovery' || (factors.totp !== undefined && problem?.exhausted === undefined) ? wanted : undefined;
    const hasPasskeys = this.#webauthn !== undefined && factors.passkeys.length > 0;
    // A factor whose record cannot be read counts as a factor that the user cannot prove.
    const unreadable = factors.unreadable.length > 0 ? 'factors.challenge.unreadable' : undefined;
    const parts = problem?.exhausted === 'challenge' ? [] : this.#parts(step, asks, problem);
    if (problem?.exhausted !== undefined || parts.length === 0)
      parts.push({ part: 'link', text: 'factors.challenge.again', href: this.#steps.urlOf(interaction, '/restart') });
    await this.#context.pages.view(ctx, {
      interaction,
      title: 'factors.challenge.title',
      ...present({ lead: leadOf(asks, hasPasskeys), problem: problem && problem.field === undefined ? problem.text : unreadable }),
      ...(problem && { status: problem.status }),
      form: { action: this.#steps.urlOf(interaction, '/factors/code') },
      parts,
      ...(hasPasskeys && { script: passkeyScript }),
    });
  }

  /** Returns the field, the passkey button, and the link to the other kind of code. */
  #parts(step: Step, asks: CodeKind | undefined, problem: Problem | undefined): ViewPart[] {
    const { interaction, factors } = step;
    const withCode = (kind: CodeKind): string => `${this.#steps.urlOf(interaction)}?with=${kind}`;
    const parts: ViewPart[] = [];
    if (asks) parts.push(fieldOf(asks, problem), { part: 'button', text: 'factors.challenge.submit' });
    if (asks !== 'recovery' && factors.passkeys.length > 0) parts.push(...this.#passkeyParts(step, asks === undefined));
    if (asks === 'recovery') parts.push({ part: 'link', text: 'factors.challenge.other', href: withCode('code') });
    else if (factors.recovery) parts.push({ part: 'link', text: 'factors.challenge.useRecovery', href: withCode('recovery') });
    return parts;
  }

  /** @param isAlone whether the page asks for no code */
  #passkeyParts(step: Step, isAlone: boolean): readonly ViewPart[] {
    if (!this.#webauthn) return [];
    const value = JSON.stringify({
      url: this.#steps.urlOf(step.interaction, '/factors/passkey'),
      options: this.#webauthn.requestOptions(subjectOf(step), passkeysOf(step.factors.passkeys), 'preferred'),
    });
    const button = { part: 'action', text: 'factors.challenge.passkey', action: 'passkey', value } as const;
    return isAlone ? [button, { part: 'text', text: 'factors.passkey.script', isForNoScript: true }] : [{ ...button, look: 'quiet' }];
  }

  #logRefusal(ctx: Context, { interaction, account }: Step, reason: string): void {
    const requestId = this.#context.http.requestId(ctx);
    this.#context.service.logger.info(
      { requestId, reason, client: interaction.client.id, tenant: account.tenant.id },
      'second factor refused',
    );
  }

  /** Answers if the factor was proven before, and returns whether it was. A form that is sent twice gets the same answer twice. */
  async #wasProven(ctx: Context, step: Step): Promise<boolean> {
    const proven = await this.#steps.provenIn(step);
    if (proven === 'done') await this.#steps.strengthen(ctx, step);
    else if (proven !== undefined) redirectByGet(ctx, this.#steps.urlOf(step.interaction));
    return proven !== undefined;
  }

  async #takeCode(ctx: Context, step: Step): Promise<void> {
    if (await this.#wasProven(ctx, step)) return;
    const [kind, typed] =
      formField(ctx, 'recovery') === '' ? (['code', formField(ctx, 'code')] as const) : (['recovery', formField(ctx, 'recovery')] as const);
    const field = kind === 'code' && step.factors.totp ? 'code' : 'recovery';
    if (typed.trim() === '') return this.show(ctx, step, { field, text: `factors.challenge.${field}Missing`, status: 400 });
    const guess = await this.#guesses.begin(step.interaction.uid, step.owner, kind);
    if ('isOver' in guess) {
      this.#logRefusal(ctx, step, 'challenge over');
      return this.show(ctx, step, { text: 'factors.challenge.over', status: 429, exhausted: 'challenge' });
    }
    if ('minutes' in guess) {
      this.#logRefusal(ctx, step, 'too many codes');
      const text = { key: 'factors.challenge.often', values: { minutes: String(guess.minutes) } };
      return this.show(ctx, step, { text, status: 429, exhausted: kind === 'code' ? 'code' : 'challenge' });
    }
    return kind === 'recovery' ? this.#takeRecoveryCode(ctx, step, typed, guess) : this.#takeAppCode(ctx, step, typed, guess);
  }

  async #takeRecoveryCode(ctx: Context, step: Step, typed: string, guess: OpenGuess): Promise<void> {
    const left = await guess.check(() => this.#userFactors.recoveryCodes.use(step.owner, step.factors, typed));
    if (left === undefined) {
      this.#logRefusal(ctx, step, 'wrong recovery code');
      await guess.failed();
      return this.show(ctx, step, { field: 'recovery', text: 'factors.challenge.recoveryWrong', status: 400 });
    }
    await guess.succeeded();
    return this.#steps.prove(ctx, step, left <= FEW ? { left } : {});
  }

  async #takeAppCode(ctx: Context, step: Step, typed: string, guess: OpenGuess): Promise<void> {
    const outcome = await guess.check(() => this.#userFactors.useTotp(step.owner, step.factors, typed));
    if (outcome !== 'right') {
      this.#logRefusal(ctx, step, `${outcome} code`);
      await guess.failed();
      const text = outcome === 'wrong' ? 'factors.challenge.codeWrong' : 'factors.challenge.codeReused';
      return this.show(ctx, step, { field: 'code', text, status: 400 });
    }
    await guess.succeeded();
    return this.#steps.prove(ctx, step);
  }

  async #takePasskey(ctx: Context, step: Step): Promise<void> {
    if (await this.#wasProven(ctx, step)) return;
    const answer = readAnswer<AuthenticationResponseJSON>(ctx);
    const row = answer && this.#webauthn && (await this.#userFactors.passkeyOf(step.owner, answer.credentialId));
    const counter = row && (await this.#webauthn?.verify(answer, subjectOf(step), row.passkey, false));
    const isCounted = step.factors.passkeys.some(({ id }) => id === row?.id);
    if (!row || !isCounted || counter === undefined || !(await this.#userFactors.usePasskey(step.owner, row, counter))) {
      this.#logRefusal(ctx, step, 'wrong passkey');
      return this.show(ctx, step, { text: 'factors.passkey.wrong', status: 400 });
    }
    return this.#steps.prove(ctx, step);
  }
}

const subjectOf = ({ interaction, owner }: Step): string => `second ${interaction.uid} ${interaction.browser} ${owner.person.user.id}`;

function leadOf(asks: CodeKind | undefined, hasPasskeys: boolean): string | undefined {
  if (asks) return asks === 'recovery' ? 'factors.challenge.recoveryLead' : 'factors.challenge.codeLead';
  return hasPasskeys ? 'factors.challenge.passkeyLead' : undefined;
}

const fieldOf = (name: CodeKind, problem: Problem | undefined): ViewPart => ({
  part: 'field',
  name,
  label: `factors.challenge.${name}`,
  kind: name === 'code' ? 'code' : 'text',
  ...(problem?.field === name && { problem: problem.text }),
});
