/** Setting a factor up: the parts of its pages, at a sign-in that asks for one and on the person's own page. */
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
import { passkeysOf } from './challenge.js';
import type { Added, Enrolled } from './enrolled.js';
import type { OwnFactors } from './factor-rows.js';
import { readAnswer, type Webauthn } from './passkeys/webauthn.js';
import { pending } from './records.js';
import { newRecoveryCodes } from './recovery-codes.js';
import { grouped, newSecret, stepOf, totpUri } from './totp.js';

interface Pending {
  readonly id: string;
  readonly secret: string;
  /** Recovery codes for who has none: a form that is sent twice is answered with the same twice. Of before there were any here: none. */
  readonly codes?: readonly string[];
}

/** Who sets a factor up, and where: `key` names the sign-in or session, so that a reload shows the same. */
export interface Enrolling {
  readonly owner: Account;
  readonly own: OwnFactors;
  readonly key: string;
  readonly added: Added;
}

/** What became of a form: the codes to show once, `done` without any, or what is wrong. */
export type Outcome = { readonly codes?: readonly string[] } | { readonly problem: Text; readonly isOfField?: true };

export class Enrolment {
  readonly #context: ExtensionContext;
  readonly #enrolled: Enrolled;
  readonly #webauthn: Webauthn | undefined;

  constructor(context: ExtensionContext, enrolled: Enrolled, webauthn: Webauthn | undefined) {
    this.#context = context;
    this.#enrolled = enrolled;
    this.#webauthn = webauthn;
  }

  /** The QR code, the secret and the field for the first code. */
  async appParts(enrolling: Enrolling, problem?: Text): Promise<readonly ViewPart[]> {
    const { owner } = enrolling;
    const { secret } = await this.#begin(enrolling);
    return [
      { part: 'qr', content: totpUri(secret, owner.person.user.userName, owner.tenant.name), label: 'factors.app.qr' },
      { part: 'copy', name: 'secret', label: 'factors.app.secret', lines: [grouped(secret)] },
      { part: 'field', name: 'code', label: 'factors.app.code', kind: 'code', ...present({ problem }) },
      ...(enrolling.added.isFirst ? [{ part: 'text', text: 'factors.enrol.ends' } as const] : []),
      { part: 'button', text: 'factors.app.submit' },
    ];
  }

  /** Whether the app is a factor already, by the form that is sent once more. */
  async wasAdded(enrolling: Enrolling): Promise<boolean> {
    const setup = await this.#pendingOf(enrolling);
    return setup !== undefined && enrolling.own.totp?.id === setup.id;
  }

  /** The app shows the code that was posted: from now on it is a factor. */
  async addApp(ctx: Context, enrolling: Enrolling): Promise<Outcome> {
    const { owner, added } = enrolling;
    const setup = await this.#pendingOf(enrolling);
    const code = cleanCode(formField(ctx, 'code'));
    if (code === '') return { problem: 'factors.challenge.codeMissing', isOfField: true };
    const lastStep = setup && stepOf(setup.secret, code, this.#context.service.now());
    if (!setup || lastStep === undefined) return { problem: 'factors.app.wrong', isOfField: true };
    try {
      await this.#enrolled.addTotp(owner, { ...setup, lastStep }, added);
    } catch (error) {
      if (!IdpError.is(error, 'conflict')) throw error;
      // The form came twice, or another tab was first.
      if ((await this.#enrolled.load(owner)).totp?.id !== setup.id) return { problem: 'factors.app.there' };
    }
    return this.#addFirstCodes(enrolling);
  }

  /** The button for a new passkey; undefined where there are none. @param url where its answer is posted */
  passkeyPart(enrolling: Enrolling, url: string, text: string): ViewPart | undefined {
    if (!this.#webauthn) return undefined;
    const { owner, own } = enrolling;
    const { user } = owner.person;
    const person = { id: user.id, name: user.userName, displayName: shownName(owner.person) };
    const options = this.#webauthn.offered(subjectOf(enrolling), person, owner.tenant.name, passkeysOf(own.passkeys));
    return { part: 'action', text, action: 'passkey', value: JSON.stringify({ url, options, isNew: true }), look: 'quiet' };
  }

  async addPasskey(ctx: Context, enrolling: Enrolling): Promise<Outcome> {
    const { owner, added } = enrolling;
    const answer = readAnswer<RegistrationResponseJSON>(ctx);
    const passkey = answer && (await this.#webauthn?.verifyNew(answer, subjectOf(enrolling)));
    if (!passkey) return { problem: 'factors.passkey.wrong' };
    try {
      await this.#enrolled.addPasskey(owner, passkey, added);
    } catch (error) {
      if (!IdpError.is(error, 'conflict')) throw error;
      this.#context.service.logger.info({ err: error }, 'new passkey refused');
      return { problem: 'factors.passkey.there' };
    }
    return this.#addFirstCodes(enrolling);
  }

  /** Recovery codes for who has none. */
  async #addFirstCodes(enrolling: Enrolling): Promise<{ readonly codes?: readonly string[] }> {
    const { owner, added } = enrolling;
    const { codes = newRecoveryCodes() } = await this.#begin(enrolling);
    return (await this.#enrolled.recoveryCodes.add(owner, codes, added.vouchedBy, added.by)) ? { codes } : {};
  }

  async #begin(enrolling: Enrolling): Promise<Pending> {
    const fresh: Pending = { id: randomUUID(), secret: newSecret(), codes: newRecoveryCodes() };
    for (;;) {
      const setup = await this.#pendingOf(enrolling);
      if (setup) return setup;
      if (await this.#context.records.artifact(pending).put(enrolling.key, fresh)) return fresh;
    }
  }

  async #pendingOf({ key }: Enrolling): Promise<Pending | undefined> {
    return (await this.#context.records.artifact(pending).read(key)) as Pending | undefined;
  }
}

const subjectOf = ({ key, owner }: Enrolling): string => `enrol ${key} ${owner.person.user.id}`;

/** Recovery codes, to be kept by the person. */
export const codesParts = (codes: readonly string[]): readonly ViewPart[] => [
  { part: 'text', text: 'factors.codes.text' },
  { part: 'copy', name: 'codes', label: 'factors.codes.label', lines: codes },
  { part: 'action', text: 'factors.codes.copy', action: 'copy', done: 'factors.codes.copied', look: 'quiet' },
  { part: 'action', text: 'factors.codes.download', action: 'download', value: 'recovery-codes.txt', look: 'quiet' },
  { part: 'action', text: 'factors.codes.print', action: 'print', look: 'quiet' },
  { part: 'button', text: 'factors.codes.saved' },
];
