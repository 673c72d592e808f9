/** Setup of a factor: the parts of its pages, at a sign-in that requires a factor and on the user's own page. */
import { randomUUID } from 'node:crypto';
import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import type { Context } from 'koa';
import {
  type Account,
  cleanCode,
  type ExtensionContext,
  formField,
  IdpError,
  present,
  shownName,
  type Text,
  type ViewPart,
} from '../../lib/extension-door.js';
import type { FactorSet } from './factor-rows.js';
import { readAnswer, type Webauthn } from './passkeys/webauthn.js';
import { passkeysOf, pendingApps } from './records.js';
import { newRecoveryCodes } from './recovery-codes.js';
import { grouped, newSecret, stepOf, totpUri } from './totp.js';
import type { Addition, UserFactors } from './user-factors.js';

interface PendingApp {
  readonly id: string;
  readonly secret: string;
  /** Recovery codes for a user who has none. The codes are stored, so that a form that is sent twice gets the same codes twice. */
  readonly codes?: readonly string[];
}

/** Setup of a factor by a user. `key` names the sign-in or the session, so that a reload shows the same secret. */
export interface Setup {
  readonly owner: Account;
  readonly factors: FactorSet;
  readonly key: string;
  readonly added: Addition;
}

/** Result of a form: recovery codes to show once, nothing, or a problem. */
export type Outcome = { readonly codes?: readonly string[] } | { readonly problem: Text; readonly isOfField?: true };

export class Enrolment {
  readonly #context: ExtensionContext;
  readonly #userFactors: UserFactors;
  readonly #webauthn: Webauthn | undefined;

  constructor(context: ExtensionContext, userFactors: UserFactors, webauthn: Webauthn | undefined) {
    this.#context = context;
    this.#userFactors = userFactors;
    this.#webauthn = webauthn;
  }

  /** Returns the QR code, the secret, and the field for the first code, with the sentence about what to do. */
  async appParts(setup: Setup, problem?: Text): Promise<readonly ViewPart[]> {
    const { owner } = setup;
    const { secret } = await this.#beginApp(setup);
    return [
      { part: 'text', text: 'factors.app.scan' },
      { part: 'qr', content: totpUri(secret, owner.person.user.userName, owner.tenant.name), label: 'factors.app.qr' },
      { part: 'copy', name: 'secret', label: 'factors.app.secret', lines: [grouped(secret)] },
      { part: 'field', name: 'code', label: 'factors.app.code', kind: 'code', ...present({ problem }) },
      { part: 'button', text: 'factors.app.submit' },
    ];
  }

  /** Returns whether the app is a factor already, because the same form was sent before. */
  async wasAdded(setup: Setup): Promise<boolean> {
    const app = await this.#pendingApp(setup);
    return app !== undefined && setup.factors.totp?.id === app.id;
  }

  /** Adds the app as a factor if the posted code proves that the app has the secret. */
  async addApp(ctx: Context, setup: Setup): Promise<Outcome> {
    const { owner, added } = setup;
    const app = await this.#pendingApp(setup);
    const code = cleanCode(formField(ctx, 'code'));
    if (code === '') return { problem: 'factors.challenge.codeMissing', isOfField: true };
    const lastStep = app && stepOf(app.secret, code, this.#context.service.now());
    if (!app || lastStep === undefined) return { problem: 'factors.app.wrong', isOfField: true };
    try {
      await this.#userFactors.addTotp(owner, { ...app, lastStep }, added);
    } catch (error) {
      if (!IdpError.is(error, 'conflict')) throw error;
      // The form was sent twice, or another tab added an app first.
      if ((await this.#userFactors.load(owner)).totp?.id !== app.id) return { problem: 'factors.app.there' };
    }
    return this.#addFirstCodes(setup);
  }

  /** Returns the button for a new passkey; undefined if the service has no passkeys. @param url where the answer of the browser is posted */
  passkeyPart(setup: Setup, url: string, text: string): ViewPart | undefined {
    if (!this.#webauthn) return undefined;
    const { owner, factors } = setup;
    const { user } = owner.person;
    const person = { id: user.id, name: user.userName, displayName: shownName(owner.person) };
    const options = this.#webauthn.creationOptions(subjectOf(setup), person, owner.tenant.name, passkeysOf(factors.passkeys));
    return {
      part: 'action',
      text,
      action: 'passkey',
      value: JSON.stringify({ url, options, isNew: true }),
      lines: ['factors.passkey.about'],
    };
  }

  async addPasskey(ctx: Context, setup: Setup): Promise<Outcome> {
    const { owner, added } = setup;
    const answer = readAnswer<RegistrationResponseJSON>(ctx);
    const passkey = answer && (await this.#webauthn?.verifyNew(answer, subjectOf(setup)));
    if (!passkey) return { problem: 'factors.passkey.wrong' };
    try {
      await this.#userFactors.addPasskey(owner, passkey, added);
    } catch (error) {
      if (!IdpError.is(error, 'conflict')) throw error;
      this.#context.service.logger.info({ err: error }, 'new passkey refused');
      return { problem: 'factors.passkey.there' };
    }
    return this.#addFirstCodes(setup);
  }

  /** Adds recovery codes if the user has none, and returns them. */
  async #addFirstCodes(setup: Setup): Promise<{ readonly codes?: readonly string[] }> {
    const { owner, added } = setup;
    const { codes = newRecoveryCodes() } = await this.#beginApp(setup);
    return (await this.#userFactors.recoveryCodes.add(owner, codes, added.vouchedBy, added.by)) ? { codes } : {};
  }

  async #beginApp(setup: Setup): Promise<PendingApp> {
    for (;;) {
      const app = await this.#pendingApp(setup);
      if (app) return app;
      const fresh: PendingApp = { id: randomUUID(), secret: newSecret(), codes: newRecoveryCodes() };
      if (await this.#context.records.artifact(pendingApps).put(setup.key, fresh)) return fresh;
    }
  }

  async #pendingApp({ key }: Setup): Promise<PendingApp | undefined> {
    return (await this.#context.records.artifact(pendingApps).read(key)) as PendingApp | undefined;
  }
}

const subjectOf = ({ key, owner }: Setup): string => `enrol ${key} ${owner.person.user.id}`;

/** Returns the page parts that show recovery codes to the user, who saves them. */
export const codesParts = (codes: readonly string[]): readonly ViewPart[] => [
  { part: 'text', text: 'factors.codes.text' },
  { part: 'copy', name: 'codes', label: 'factors.codes.label', lines: codes },
  { part: 'action', text: 'factors.codes.copy', action: 'copy', done: 'factors.codes.copied', look: 'quiet' },
  { part: 'action', text: 'factors.codes.download', action: 'download', value: 'recovery-codes.txt', look: 'quiet' },
  { part: 'action', text: 'factors.codes.print', action: 'print', look: 'quiet' },
  { part: 'button', text: 'factors.codes.saved' },
];
