/** Sign-in with a passkey in place of name and password. */
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { Context } from 'koa';
import {
  type Account,
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  type Interaction,
  type PostForm,
  type Proof,
  redirectByGet,
  type SignInMethod,
  type View,
} from '../../../lib/extension-door.js';
import { PASSKEY, passkeyChoices } from '../records.js';
import type { UserFactors } from '../user-factors.js';
import { passkeyScript } from './script.js';
import { readAnswer, type Webauthn } from './webauthn.js';

interface Choosing {
  readonly owner: string;
  /** Id of the passkey's record. */
  readonly factorId: string;
  /** Proof of each account by the passkey, by `oid`. A sign-out everywhere before the choice makes a proof invalid. */
  readonly proofs: Readonly<Record<string, Proof>>;
}

export class PasskeySignIn {
  readonly method: SignInMethod;
  readonly #context: ExtensionContext;
  readonly #userFactors: UserFactors;
  readonly #webauthn: Webauthn;

  constructor(context: ExtensionContext, userFactors: UserFactors, webauthn: Webauthn) {
    this.#context = context;
    this.#userFactors = userFactors;
    this.#webauthn = webauthn;
    this.method = {
      name: PASSKEY,
      isLocal: true,
      buttons: (interaction) => [
        { idp: PASSKEY, label: 'factors.signIn.button', script: { source: passkeyScript, value: this.#scriptValue(interaction, true) } },
      ],
      begin: (ctx, interaction) => this.#show(ctx, interaction),
    };
  }

  routes(router: ExtensionRouter): void {
    const base = `${this.#context.service.own}/interaction/:uid`;
    router.postForm(`${base}/passkey`, this.#posted(this.#takePasskey));
    router.postForm(`${base}/passkey-organisation`, this.#posted(this.#takeOrganisation));
  }

  /** Returns the route of a form of these pages, which are steps of a sign-in. */
  #posted(take: PostForm<Interaction>['take']): PostForm<Interaction> {
    return {
      whileImpersonating: true,
      open: (ctx) => this.#context.signIn.interactions.load(ctx),
      subject: ({ uid }) => uid,
      again: (ctx, interaction) =>
        this.#showProblem(ctx, interaction, {
          title: 'factors.signIn.refused',
          problem: 'factors.foreign',
          status: 403,
          href: this.#urlOf(interaction),
        }),
      take,
    };
  }

  #takePasskey = async (ctx: Context, interaction: Interaction): Promise<void> => {
    const { directory, records, service } = this.#context;
    const provenAt = new Date(service.now());
    const answer = readAnswer<AuthenticationResponseJSON>(ctx);
    if (!answer) return this.#refuse(ctx, interaction, 'no answer of a passkey');
    const owner = answer.userHandle === undefined ? undefined : await directory.accounts.findByOid(answer.userHandle);
    const row = owner && (await this.#userFactors.passkeyOf(owner, answer.credentialId));
    const counter = await this.#webauthn.verify(answer, subjectOf(interaction), row?.passkey, true);
    if (!owner || !row || counter === undefined) return this.#refuse(ctx, interaction, 'wrong passkey');
    const [account, ...others] = await this.#accountsOf(owner.person.user.id, interaction);
    if (!account || !(await this.#userFactors.usePasskey(owner, row, counter)))
      return this.#refuse(ctx, interaction, 'passkey of no use here');
    const proofOf = (each: Account): Promise<Proof> => directory.credentials.proofOf(each, provenAt);
    if (others.length === 0) return this.#signIn(ctx, interaction, account, row.id, await proofOf(account));
    const proven = async (each: Account): Promise<[string, Proof]> => [each.person.user.id, await proofOf(each)];
    const proofs = Object.fromEntries(await Promise.all([account, ...others].map(proven)));
    const choice: Choosing = { owner: owner.person.user.id, factorId: row.id, proofs };
    await records.artifact(passkeyChoices).put(interaction.uid, choice);
    return this.#showChoice(ctx, interaction, [account, ...others]);
  };

  #takeOrganisation = async (ctx: Context, interaction: Interaction): Promise<void> => {
    const choice = (await this.#context.records.artifact(passkeyChoices).read(interaction.uid)) as Choosing | undefined;
    const accounts = choice ? await this.#accountsOf(choice.owner, interaction) : [];
    const chosen = accounts.find(({ person }) => person.user.id === formField(ctx, 'oid'));
    const proof = chosen && choice?.proofs[chosen.person.user.id];
    if (!choice || !chosen || !proof) return redirectByGet(ctx, `${this.#urlOf(interaction)}?restart=yes`);
    return this.#signIn(ctx, interaction, chosen, choice.factorId, proof);
  };

  /** Returns the accounts of this sign-in's tenants that the owner's credential signs in to. */
  async #accountsOf(owner: string, { tids }: Interaction): Promise<readonly Account[]> {
    const all = await this.#context.directory.accounts.named(owner);
    return all.filter(
      ({ tenant: { id, signIn } }) => (tids?.includes(id) ?? true) && (signIn?.methods === undefined || signIn.methods.includes(PASSKEY)),
    );
  }

  async #signIn(ctx: Context, interaction: Interaction, account: Account, factorId: string, proof: Proof): Promise<void> {
    const { id: oid } = account.person.user;
    if (!(await this.#userFactors.counts(account, factorId))) return this.#askForConfirmation(ctx, interaction, oid);
    const target = await this.#context.signIn.interactions.signIn(ctx, interaction, {
      oid,
      amr: ['pop', 'mfa'],
      idp: 'local',
      method: PASSKEY,
      used: factorId,
      proof,
    });
    return target === undefined ? this.#refuse(ctx, interaction, 'passkey of no use here') : redirectByGet(ctx, target);
  }

  #show(ctx: Context, interaction: Interaction): Promise<void> {
    return this.#context.pages.view(ctx, {
      interaction,
      title: 'factors.signIn.title',
      lead: 'factors.signIn.lead',
      form: { action: this.#urlOf(interaction, '/passkey') },
      parts: [
        { part: 'action', text: 'factors.signIn.button', action: PASSKEY, value: this.#scriptValue(interaction, false) },
        { part: 'text', text: 'factors.passkey.script', isForNoScript: true },
      ],
      script: passkeyScript,
    });
  }

  #showChoice(ctx: Context, interaction: Interaction, accounts: readonly Account[]): Promise<void> {
    const choices = accounts.map(({ person, tenant }) => ({
      value: person.user.id,
      title: { plain: tenant.name },
      lines: [{ plain: person.user.userName }],
    }));
    return this.#context.pages.view(ctx, {
      interaction,
      title: 'factors.signIn.choose',
      form: { action: this.#urlOf(interaction, '/passkey-organisation') },
      parts: [{ part: 'choices', name: 'oid', choices }],
    });
  }

  /** Answers an unknown passkey and a passkey of a user who cannot sign in here in the same way. */
  #refuse(ctx: Context, interaction: Interaction, reason: string): Promise<void> {
    this.#logRefusal(ctx, interaction, { reason });
    return this.#showProblem(ctx, interaction, {
      title: 'factors.signIn.refused',
      problem: 'factors.signIn.refusedText',
      status: 400,
      href: `${this.#urlOf(interaction)}?restart=yes`,
    });
  }

  /** Shows that an administrator must confirm the passkey or the account link, because the user has got privileges since. */
  #askForConfirmation(ctx: Context, interaction: Interaction, user: string): Promise<void> {
    this.#logRefusal(ctx, interaction, { reason: 'unconfirmed', user, method: PASSKEY });
    return this.#showProblem(ctx, interaction, {
      title: 'factors.unconfirmed.title',
      problem: 'factors.unconfirmed.text',
      status: 403,
      href: `${this.#urlOf(interaction)}?restart=yes`,
    });
  }

  #logRefusal(
    ctx: Context,
    { client }: Interaction,
    fields: { readonly reason: string; readonly user?: string; readonly method?: string },
  ): void {
    const { http, service } = this.#context;
    service.logger.info({ requestId: http.requestId(ctx), client: client.id, ...fields }, 'sign-in refused');
  }

  #showProblem(
    ctx: Context,
    interaction: Interaction,
    { href, ...problem }: Pick<View, 'title' | 'problem' | 'status'> & { href: string },
  ): Promise<void> {
    return this.#context.pages.view(ctx, { interaction, ...problem, parts: [{ part: 'link', text: 'factors.signIn.again', href }] });
  }

  #scriptValue(interaction: Interaction, isConditional: boolean): string {
    const options = this.#webauthn.requestOptions(subjectOf(interaction), [], 'required');
    return JSON.stringify({ url: this.#urlOf(interaction, '/passkey'), options, isConditional });
  }

  #urlOf({ uid }: Interaction, step = ''): string {
    const { own, url } = this.#context.service;
    return url(`${own}/interaction/${uid}${step}`);
  }
}

const subjectOf = ({ uid, browser }: Interaction): string => `first ${uid} ${browser}`;
