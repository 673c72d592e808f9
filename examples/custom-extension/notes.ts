import {
  type AccessToken,
  type BearerState,
  type Context,
  defineCollection,
  defineErrors,
  type Extension,
  IdpError,
  json,
  strict,
  Type,
} from 'tenant-idp/extension';

const Text = Type.String({ minLength: 1, maxLength: 1000 });
const NewNote = Type.Object({ text: Text }, strict);
const Note = Type.Object({ id: Type.String(), text: Text }, strict);
const Notes = Type.Object({ notes: Type.Array(Note) }, strict);

const rows = defineCollection({
  name: 'notes.entries',
  row: Type.Object({ personId: Type.String(), text: Text }, strict),
  indexes: { byPerson: { fields: ['personId'] } },
  async erase(notes, { personId }) {
    for (const { id } of await notes.find('byPerson', [personId])) await notes.remove(id);
  },
  export: async (notes, { personId }) => (await notes.find('byPerson', [personId])).map(({ text }) => ({ text })),
});

const MOST = 100;
const errors = defineErrors({ notes_full: { status: 409, description: `The person already has ${MOST} notes. Remove one first.` } });

/** Returns the person of the token. A client itself has no notes. */
function personOf(ctx: Context): NonNullable<AccessToken['account']>['person'] {
  const { account } = (ctx.state as BearerState).accessToken;
  if (!account) throw new IdpError('insufficient_scope');
  return account.person;
}

/** Notes of a person, for applications that have an access token with scope `notes`. */
export const notes: Extension = {
  name: 'notes',
  collections: [rows],
  errorCodes: errors.codes,
  errors: 'problem',
  discovery: ({ service: { url } }) => ({ notes_endpoint: url('/notes') }),
  routes(router, { http: { bearer }, records: { collection } }) {
    const signedIn = bearer('notes', 'notes');

    router.get(
      '/notes',
      signedIn,
      json({ answer: Notes }, async (ctx) => {
        const { id: personId, tid } = personOf(ctx);
        const found = await collection(rows, tid).find('byPerson', [personId]);
        return { notes: found.map(({ id, text }) => ({ id, text })) };
      }),
    );

    router.postWithoutCsrf(
      '/notes',
      signedIn,
      json({ body: NewNote, answer: Note, status: 201 }, async (ctx, { text }) => {
        const { id: personId, tid } = personOf(ctx);
        const own = collection(rows, tid);
        if ((await own.find('byPerson', [personId], { limit: MOST })).length === MOST) throw errors('notes_full', { most: MOST });
        const { id } = await own.insert({ personId, text });
        return { id, text };
      }),
    );

    router.delete(
      '/notes/:id',
      signedIn,
      json({}, async (ctx) => {
        const { id: personId, tid } = personOf(ctx);
        const own = collection(rows, tid);
        const note = await own.get(String(ctx.params.id));
        // A note of another person gets the same answer as a note that does not exist.
        if (note?.personId !== personId) throw new IdpError('not_found');
        await own.remove(note.id);
      }),
    );
  },
};
