import { defineCollection, type Extension, formField, IdpError, redirectByGet, strict, Type } from 'tenant-idp/extension';

const acceptances = defineCollection({
  name: 'terms.acceptances',
  row: Type.Object({ personId: Type.String(), edition: Type.String(), at: Type.String() }, strict),
  indexes: { byPerson: { fields: ['personId', 'edition'], unique: true } },
  async erase(rows, { personId }) {
    for (const { id } of await rows.find('byPerson', [personId])) await rows.remove(id);
  },
  export: async (rows, { personId }) => (await rows.find('byPerson', [personId])).map(({ edition, at }) => ({ edition, at })),
});

/**
 * Creates a requirement with its page: terms of service. Users of the clients accept each edition once.
 * @param edition a new value asks all users again.
 */
export const terms = (edition: string, clients: readonly string[]): Extension => ({
  name: 'terms',
  collections: [acceptances],
  texts: {
    en: {
      'terms.title': 'Terms of service',
      'terms.read': 'Read them',
      'terms.agree': 'I have read them and agree',
      'terms.go': 'Continue',
    },
    nb: { 'terms.title': 'Vilkår', 'terms.read': 'Les dem', 'terms.agree': 'Jeg har lest dem og godtar dem', 'terms.go': 'Fortsett' },
    sv: { 'terms.title': 'Villkor', 'terms.read': 'Läs dem', 'terms.agree': 'Jag har läst och godkänner dem', 'terms.go': 'Fortsätt' },
    da: { 'terms.title': 'Vilkår', 'terms.read': 'Læs dem', 'terms.agree': 'Jeg har læst og accepterer dem', 'terms.go': 'Fortsæt' },
    fi: { 'terms.title': 'Käyttöehdot', 'terms.read': 'Lue ne', 'terms.agree': 'Olen lukenut ja hyväksyn ne', 'terms.go': 'Jatka' },
    de: {
      'terms.title': 'Nutzungsbedingungen',
      'terms.read': 'Lesen',
      'terms.agree': 'Ich habe sie gelesen und stimme zu',
      'terms.go': 'Weiter',
    },
  },
  requirements: ({ records: { collection }, service: { own, url }, pages: { view } }) => [
    {
      name: 'terms',
      error: 'interaction_required',
      silent: 'refuse',
      async check({ person }, { act }, { client }) {
        // An impersonator accepts nothing in the name of the user.
        if (act || !clients.includes(client.id)) return 'met';
        const [accepted] = await collection(acceptances, person.tid).find('byPerson', [person.id, edition]);
        return accepted ? 'met' : 'open';
      },
      show: (ctx, interaction) =>
        view(ctx, {
          interaction,
          title: 'terms.title',
          form: { action: url(`${own}/interaction/${interaction.uid}/terms`) },
          parts: [
            { part: 'link', text: 'terms.read', href: '/terms' },
            { part: 'check', name: 'agree', label: 'terms.agree' },
            { part: 'button', text: 'terms.go' },
          ],
        }),
    },
  ],
  routes(router, { records: { collection }, directory, signIn: { interactions }, service: { own } }) {
    router.postForm(`${own}/interaction/:uid/terms`, {
      open: (ctx) => interactions.load(ctx),
      subject: ({ uid }) => uid,
      again: (ctx) => ctx.throw(403),
      async take(ctx, interaction) {
        const account = interaction.requirement === 'terms' && (await directory.accounts.findByOid(interaction.oid ?? ''));
        if (account && formField(ctx, 'agree') === 'yes') {
          const { id: personId, tid } = account.person;
          const acceptance = { personId, edition, at: new Date().toISOString() };
          // A conflict means that the person accepted before, because the form was sent twice.
          await collection(acceptances, tid).insert(acceptance).catch(IdpError.unless('conflict'));
        }
        // The requirement is checked again. If the box was not ticked, the page is shown again.
        redirectByGet(ctx, await interactions.goOn(ctx, interaction));
      },
    });
  },
});
