import { createHash, randomBytes } from 'node:crypto';
import { type Account, type ArtifactKind, type Extension, isClaimed, parametersOf } from 'tenant-idp/extension';

/** An OpenID provider at which users have an account. */
export interface Provider {
  readonly authorize: string;
  readonly token: string;
  readonly userinfo: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

interface Begun {
  readonly uid: string;
  readonly verifier: string;
}

const IDP = 'partner';
const TIMEOUT_MS = 5_000;
/** Data for the callback, which can be used once. */
const begun: ArtifactKind = { name: 'upstream.begun', once: true, lifetimeSeconds: 600 };

async function json(url: string, init: RequestInit): Promise<Record<string, unknown>> {
  const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return (await answer.json()) as Record<string, unknown>;
}

/** Returns the subject of the user at the provider. @see OpenID Connect Core §5.3.2 */
async function subjectOf(provider: Provider, code: string, verifier: string, callback: string): Promise<string> {
  const fields = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: callback };
  const credentials = Buffer.from(`${provider.clientId}:${provider.clientSecret}`).toString('base64');
  const { access_token: token } = await json(provider.token, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  });
  const { sub } = await json(provider.userinfo, { headers: { authorization: `Bearer ${String(token)}` } });
  if (typeof sub !== 'string' || sub === '') throw new Error('the provider did not say who it is');
  return sub;
}

/** Creates a sign-in method: sign-in at another provider, with a code and PKCE. The identity at the provider has to be recorded for an account here. */
export const upstream = (provider: Provider): Extension => ({
  name: 'upstream',
  artifacts: [begun],
  texts: {
    en: { 'upstream.button': 'Sign in with Partner', 'upstream.failed': 'That did not work', 'upstream.again': 'Try again' },
    nb: { 'upstream.button': 'Logg inn med Partner', 'upstream.failed': 'Det gikk ikke', 'upstream.again': 'Prøv igjen' },
    sv: { 'upstream.button': 'Logga in med Partner', 'upstream.failed': 'Det gick inte', 'upstream.again': 'Försök igen' },
    da: { 'upstream.button': 'Log ind med Partner', 'upstream.failed': 'Det lykkedes ikke', 'upstream.again': 'Prøv igen' },
    fi: { 'upstream.button': 'Kirjaudu Partnerilla', 'upstream.failed': 'Se ei onnistunut', 'upstream.again': 'Yritä uudelleen' },
    de: { 'upstream.button': 'Mit Partner anmelden', 'upstream.failed': 'Das hat nicht geklappt', 'upstream.again': 'Erneut versuchen' },
  },
  signInMethods: ({ records: { artifact }, service: { own, url } }) => [
    {
      name: IDP,
      buttons: () => [{ idp: IDP, label: 'upstream.button' }],
      async begin(ctx, { uid, parameters }) {
        const [state, verifier] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')];
        await artifact(begun).put(state, { uid, verifier } satisfies Begun);
        const query = new URLSearchParams({
          response_type: 'code',
          scope: 'openid',
          client_id: provider.clientId,
          redirect_uri: url(`${own}/upstream/callback`),
          state,
          code_challenge: createHash('sha256').update(verifier).digest('base64url'),
          code_challenge_method: 'S256',
          ...(parameters.prompt === 'login' ? { prompt: 'login' } : {}),
        });
        ctx.status = 303;
        ctx.redirect(`${provider.authorize}?${query}`);
      },
    },
  ],
  routes(router, { records: { artifact }, directory, signIn: { interactions }, service: { logger, own, url }, pages: { view } }) {
    // Browsers send the cookies of a sign-in only to the path of the sign-in, so this route redirects there with the parameters.
    router.get(`${own}/upstream/callback`, async (ctx) => {
      const { state = '' } = parametersOf(ctx, ['state']);
      const found = (await artifact(begun).read(state)) as Begun | undefined;
      if (!found) return ctx.throw(400);
      ctx.set('Referrer-Policy', 'no-referrer');
      ctx.status = 303;
      ctx.redirect(url(`${own}/interaction/${found.uid}/upstream?${ctx.querystring}`));
    });

    router.get(`${own}/interaction/:uid/upstream`, async (ctx) => {
      // The sign-in of another browser is not loaded.
      const interaction = await interactions.load(ctx);
      if (!interaction) return;
      const { code = '', state = '' } = parametersOf(ctx, ['code', 'state']);
      const found = (await artifact(begun).take(state)) as Begun | undefined;
      const again = url(`${own}/interaction/${interaction.uid}?restart=yes`);
      try {
        if (found?.uid !== interaction.uid || code === '') throw new Error('the provider sent no code');
        const subject = await subjectOf(provider, code, found.verifier, url(`${own}/upstream/callback`));
        const { tids } = interaction;
        const identity = { idp: IDP, subject };
        // A tenant's administrator may have recorded the identity of a user of another tenant. The identity therefore counts only in sign-ins for the
        // account's tenant.
        const isFor = ({ tenant }: Account) => tids?.length === 1 && tids[0] === tenant.id;
        const known = (await directory.accounts.ofIdentity(identity)).filter((each) => isFor(each) || !isClaimed(each, identity));
        const account = known.find(({ tenant }) => tids?.includes(tenant.id) ?? true);
        if (!account) throw new Error('no user has this identity');
        if (!(await directory.means.opens(identity, account.person))) throw new Error('an administrator must confirm the identity');
        const proof = await directory.credentials.proofOf(account);
        const heldTo = isClaimed(account, identity) ? { heldTo: account.tenant.id } : {};
        const signIn = { oid: account.person.user.id, amr: ['external'], idp: IDP, used: subject, ...heldTo, proof };
        const target = await interactions.signIn(ctx, interaction, signIn);
        if (target === undefined) throw new Error('the account does not accept this sign-in');
        ctx.status = 303;
        ctx.redirect(target);
      } catch (err) {
        logger.info({ err }, 'the sign-in at the partner failed');
        const parts = [{ part: 'link', text: 'upstream.again', href: again }] as const;
        await view(ctx, { interaction, title: 'upstream.failed', status: 400, parts });
      }
    });
  },
});
