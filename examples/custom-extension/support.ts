import { type Account, type Context, type Extension, formField, type Interaction, MINUTE_MS, redirectByGet } from 'tenant-idp/extension';

const LASTS_MS = 30 * MINUTE_MS;

// biome-ignore format: a table
const texts = {
  en: { 'support.title': 'Sign in as a user', 'support.user': 'User name', 'support.reason': 'Reason', 'support.go': 'Sign in', 'support.end': 'End', 'support.no': 'You cannot sign in as that user.', 'support.done': 'You are yourself again.' },
  nb: { 'support.title': 'Logg inn som bruker', 'support.user': 'Brukernavn', 'support.reason': 'Årsak', 'support.go': 'Logg inn', 'support.end': 'Avslutt', 'support.no': 'Du kan ikke logge inn som denne brukeren.', 'support.done': 'Du er deg selv igjen.' },
  sv: { 'support.title': 'Logga in som användare', 'support.user': 'Användarnamn', 'support.reason': 'Orsak', 'support.go': 'Logga in', 'support.end': 'Avsluta', 'support.no': 'Du kan inte logga in som den användaren.', 'support.done': 'Du är dig själv igen.' },
  da: { 'support.title': 'Log ind som bruger', 'support.user': 'Brugernavn', 'support.reason': 'Årsag', 'support.go': 'Log ind', 'support.end': 'Afslut', 'support.no': 'Du kan ikke logge ind som den bruger.', 'support.done': 'Du er dig selv igen.' },
  fi: { 'support.title': 'Kirjaudu käyttäjänä', 'support.user': 'Käyttäjätunnus', 'support.reason': 'Syy', 'support.go': 'Kirjaudu', 'support.end': 'Lopeta', 'support.no': 'Et voi kirjautua tänä käyttäjänä.', 'support.done': 'Olet taas oma itsesi.' },
  de: { 'support.title': 'Als Benutzer anmelden', 'support.user': 'Benutzername', 'support.reason': 'Grund', 'support.go': 'Anmelden', 'support.end': 'Beenden', 'support.no': 'Sie können sich nicht als dieser Benutzer anmelden.', 'support.done': 'Sie sind wieder Sie selbst.' },
};

/** Asks support agents which user they impersonate, and why. */
const supportRequirements =
  (group: string): NonNullable<Extension['requirements']> =>
  ({ directory, service: { own, url }, pages: { view } }) => [
    {
      name: 'support',
      serves: 'impersonate',
      // Other requirements of the support agent come first.
      after: ['*'],
      error: 'interaction_required',
      silent: 'pass',
      // Only a member of the group sees the page.
      async check({ person }, { act }, { acr }) {
        if (acr.impersonate === false || act) return 'met';
        const groups = await directory.accounts.groups(person);
        return groups.some(({ name }) => name === group) ? 'met' : 'refused';
      },
      show: (ctx, interaction) =>
        view(ctx, {
          interaction,
          title: 'support.title',
          ...(ctx.method === 'POST' ? { problem: 'support.no', status: 400 } : {}),
          form: { action: url(`${own}/interaction/${interaction.uid}/support`) },
          parts: [
            { part: 'field', name: 'user', label: 'support.user' },
            { part: 'field', name: 'reason', label: 'support.reason' },
            { part: 'button', text: 'support.go' },
          ],
        }),
    },
  ];

/**
 * Creates an impersonation: support agents impersonate a user of their own tenant, for half an hour and with a reason. The impersonation is a sign-in with
 * `act` and an end. An application requests the impersonation by `acr_values=impersonate`.
 * @param group whose members may impersonate.
 */
export const support = (group: string): Extension => ({
  name: 'support',
  texts,
  endImpersonationAt: ({ service: { url } }) => url('/support'),
  requirements: supportRequirements(group),
  routes(router, { directory, impersonation, signIn, service: { logger, now, own, url }, pages: { view } }) {
    const { interactions } = signIn;
    const isSupport = async ({ person }: Account): Promise<boolean> =>
      (await directory.accounts.groups(person)).some(({ name }) => name === group);

    router.postForm(`${own}/interaction/:uid/support`, {
      open: (ctx) => interactions.load(ctx),
      subject: ({ uid }) => uid,
      again: (ctx) => ctx.throw(403),
      take,
    });

    async function take(ctx: Context, interaction: Interaction): Promise<void> {
      const [user, reason] = [formField(ctx, 'user'), formField(ctx, 'reason')];
      const actor = await directory.accounts.findByOid(interaction.oid ?? '');
      if (!actor || interaction.requirement !== 'support' || !(await isSupport(actor))) return ctx.throw(403);
      const [target] = await directory.accounts.candidates(user, { tids: [actor.tenant.id] });
      // A support agent cannot impersonate another member of the group, or themselves.
      if (!target || reason.trim() === '' || (await isSupport(target))) return signIn.interactions.showRequirement(ctx, interaction);
      const { id, parentUserId = id } = actor.person.user;
      const act = { oid: id, sub: parentUserId, tid: actor.tenant.id };
      const oid = target.person.user.id;
      // The impersonation is logged before a token exists.
      logger.info({ actor: id, user: oid, reason, client: interaction.client.id }, 'a support agent impersonates a user');
      const next = await signIn.interactions.signIn(ctx, interaction, {
        oid,
        amr: ['pwd', 'imp'],
        idp: 'local',
        proof: await directory.credentials.proofOf(target),
        act,
        endsAt: new Date(now() + LASTS_MS),
        offline: false,
      });
      if (next === undefined) return interactions.showRequirement(ctx, interaction);
      redirectByGet(ctx, next);
    }

    router.get('/support', async (ctx) => {
      const here = await signIn.current(ctx);
      if (!here?.act) return ctx.throw(404);
      const form = { action: url('/support'), subject: 'support' };
      await view(ctx, { title: { plain: here.account.person.user.userName }, form, parts: [{ part: 'button', text: 'support.end' }] });
    });

    router.postForm('/support', {
      whileImpersonating: true,
      open: () => 'support',
      subject: (subject) => subject,
      again: (ctx) => ctx.throw(403),
      async take(ctx) {
        const done = url('/support/done');
        redirectByGet(ctx, (await impersonation.end(ctx, done)) ?? done);
      },
    });
    router.get('/support/done', (ctx) => view(ctx, { title: 'support.done', parts: [] }));
  },
});
