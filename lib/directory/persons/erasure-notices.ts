import type { Collection } from '../../store/directory-store.js';
import type { Person } from '../../store/records.js';
import type { ErasedPerson, WithErasure } from '../context.js';
import type { Deliveries } from '../outbox/deliveries.js';

/** The kind of delivery that has extensions erase what they keep of a person. */
const KIND = 'erase-person';

interface ErasureNotices {
  readonly withErasure: WithErasure;
}

/** @param erase undefined where nobody else keeps anything of persons. */
export function createErasureNotices(
  { enqueue, handle }: Pick<Deliveries, 'enqueue' | 'handle'>,
  persons: Pick<Collection<Person>, 'get'>,
  erase: ((person: ErasedPerson) => Promise<void>) | undefined,
): ErasureNotices {
  if (!erase) return { withErasure: (_, change) => change() };
  handle(KIND, async ({ data }) => {
    const person = data as unknown as ErasedPerson;
    const kept = await persons.get(person.personId);
    // The write is late or was never made. Without it, the delivery is given up in the end.
    if (kept?.tid === person.tid) throw new Error('the person is not erased yet');
    await erase(person);
  });
  return {
    async withErasure(person, change) {
      const { release } = await enqueue([{ kind: KIND, data: { ...person } }]);
      const changed = await change();
      release();
      return changed;
    },
  };
}
