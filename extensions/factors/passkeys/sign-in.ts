/** Passkeys in the place of name and password. */
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
} from '../../../lib/extension-door.js';
import type { Enrolled } from '../enrolled.js';
import { choosing } from '../records.js';
import { passkeyScript } from './script.js';
import { readAnswer, type Webauthn } from './webauthn.js';

/** The name of the method. */
export const PASSKEY = 'passkey';

interface Choosing {
  readonly owner: string;
  /** Id of the passkey's record. */
  readonly factorId: string;
  /** The proof of each account by the passkey, by `oid`. “Sign out everywhere” before the choice ends a proof. */
  readonly proofs: Readonly<Record<string, Proof>>;
}

export function createPasskeySignIn(context: ExtensionContext, enrolled: Enrolled, webauthn: Webauthn) {
  const {
    service: { own, url, logger },
    signIn: { interactions },
    directory,
    records: { artifact },
    pages: { view },
    http: { requestId },
  } = context;
  const at = ({ uid }: Interaction, path = ''): string => url(`${own}/interaction/${uid}${path}`);
  const subjectOf = ({ uid, browser }: Interaction): string => `first ${uid} ${browser}`;
  const script = (interaction: Interaction, isConditional: boolean) => ({
    source: passkeyScript,
    value: JSON.stringify({
      url: at(interaction, '/passkey'),
      options: webauthn.asked(subjectOf(interaction), [], 'required'),
      isConditional,
    }),
  });

  const method: SignInMethod = {
    name: PASSKEY,
    isLocal: true,
    buttons: (interaction) => [{ idp: PASSKEY, label: 'factors.signIn.button', script: script(interaction, true) }],
    begin: (ctx, interaction) =>
      view(ctx, {
        interaction,
        title: 'factors.signIn.title',
        lead: 'factors.signIn.lead',
        form: { action: at(interaction, '/passkey') },
        parts: [
          { part: 'action', text: 'factors.signIn.button', action: PASSKEY, value: script(interaction, false).value },
          { part: 'text', text: 'factors.passkey.script', isForNoScript: true },
        ],
        script: passkeyScript,
      }),
  };

  /** One answer for a passkey that nobody has, and for one of somebody who cannot sign in here. */
  async function refused(ctx: Context, interaction: Interaction, reason: string): Promise<void> {
    logger.info({ requestId: requestId(ctx), reason, client: interaction.client.id }, 'sign-in refused');
    await view(ctx, {
      interaction,
      title: 'factors.signIn.refused',
      problem: 'factors.signIn.refusedText',
      status: 400,
      parts: [{ part: 'link', text: 'factors.signIn.again', href: `${at(interaction)}?restart=yes` }],
    });
  }

  /** The accounts that the owner's credential signs in to here. */
  async function accountsOf(owner: string, { tids }: Interaction): Promise<readonly Account[]> {
    const all = await directory.accounts.named(owner);
    return all.filter(
      ({ tenant: { id, signIn } }) => (tids?.includes(id) ?? true) && (signIn?.methods === undefined || signIn.methods.includes(PASSKEY)),
    );
  }

  /** Shows that an administrator must confirm the passkey or the account link, because the user has got privileges since. */
  async function unconfirmed(ctx: Context, interaction: Interaction, user: string): Promise<void> {
    logger.info(
      { requestId: requestId(ctx), reason: 'unconfirmed', client: interaction.client.id, user, method: PASSKEY },
      'sign-in refused',
    );
    await view(ctx, {
      interaction,
      title: 'factors.unconfirmed.title',
      problem: 'factors.unconfirmed.text',
      status: 403,
      parts: [{ part: 'link', text: 'factors.signIn.again', href: `${at(interaction)}?restart=yes` }],
    });
  }

  async function signIn(ctx: Context, interaction: Interaction, account: Account, factorId: string, proof: Proof): Promise<void> {
    const { id: oid } = account.person.user;
    if (!(await enrolled.counts(account, factorId))) return unconfirmed(ctx, interaction, oid);
    const target = await interactions.signIn(ctx, interaction, {
      oid,
      amr: ['pop', 'mfa'],
      idp: 'local',
      method: PASSKEY,
      used: factorId,
      proof,
    });
    return target === undefined ? refused(ctx, interaction, 'passkey of no use here') : redirectByGet(ctx, target);
  }

  const choice = (ctx: Context, interaction: Interaction, accounts: readonly Account[]): Promise<void> =>
    view(ctx, {
      interaction,
      title: 'factors.signIn.choose',
      form: { action: at(interaction, '/passkey-organisation') },
      parts: [
        {
          part: 'choices',
          name: 'oid',
          choices: accounts.map(({ person, tenant }) => ({
            value: person.user.id,
            title: { plain: tenant.name },
            lines: [{ plain: person.user.userName }],
          })),
        },
      ],
    });

  /** Returns the route of a form of these pages, which are steps of a sign-in. */
  const posted = (take: PostForm<Interaction>['take']): PostForm<Interaction> => ({
    whileImpersonating: true,
    open: (ctx) => interactions.load(ctx),
    subject: ({ uid }) => uid,
    again: (ctx, interaction) =>
      view(ctx, {
        interaction,
        title: 'factors.signIn.refused',
        problem: 'factors.foreign',
        status: 403,
        parts: [{ part: 'link', text: 'factors.signIn.again', href: at(interaction) }],
      }),
    take,
  });

  async function takePasskey(ctx: Context, interaction: Interaction): Promise<void> {
    const provenAt = new Date(context.service.now());
    const given = readAnswer<AuthenticationResponseJSON>(ctx);
    if (!given) return refused(ctx, interaction, 'no answer of a passkey');
    const owner = given.userHandle === undefined ? undefined : await directory.accounts.findByOid(given.userHandle);
    const row = owner && (await enrolled.passkeyOf(owner, given.credentialId));
    const counter = await webauthn.verify(given, subjectOf(interaction), row?.passkey, true);
    if (!owner || !row || counter === undefined) return refused(ctx, interaction, 'wrong passkey');
    const [account, ...others] = await accountsOf(owner.person.user.id, interaction);
    if (!account || !(await enrolled.usePasskey(owner, row, counter))) return refused(ctx, interaction, 'passkey of no use here');
    const proofOf = (each: Account): Promise<Proof> => directory.credentials.proofOf(each, provenAt);
    if (others.length === 0) return signIn(ctx, interaction, account, row.id, await proofOf(account));
    const proven = async (each: Account): Promise<[string, Proof]> => [each.person.user.id, await proofOf(each)];
    const proofs = Object.fromEntries(await Promise.all([account, ...others].map(proven)));
    await artifact(choosing).put(interaction.uid, { owner: owner.person.user.id, factorId: row.id, proofs } satisfies Choosing);
    return choice(ctx, interaction, [account, ...others]);
  }

  async function takeOrganisation(ctx: Context, interaction: Interaction): Promise<void> {
    const kept = (await artifact(choosing).read(interaction.uid)) as Choosing | undefined;
    const accounts = kept ? await accountsOf(kept.owner, interaction) : [];
    const chosen = accounts.find(({ person }) => person.user.id === formField(ctx, 'oid'));
    const proof = chosen && kept?.proofs[chosen.person.user.id];
    if (!kept || !chosen || !proof) return redirectByGet(ctx, `${at(interaction)}?restart=yes`);
    return signIn(ctx, interaction, chosen, kept.factorId, proof);
  }

  function routes(router: ExtensionRouter): void {
    const base = `${own}/interaction/:uid`;
    router.postForm(`${base}/passkey`, posted(takePasskey));
    router.postForm(`${base}/passkey-organisation`, posted(takeOrganisation));
  }

  return { method, routes };
}
