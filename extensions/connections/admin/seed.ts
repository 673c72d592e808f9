/**
 * Connections of the option `seed`, under `extensions.connections`. Each connection has its id, and the name of its tenant unless it is of the instance.
 */
import { defineSeed, type ExtensionContext, type ExtensionSeed, type SeedPart } from '../../../lib/extension-door.js';
import type { ConnectionLookup } from '../lookup.js';
import { type Connection, connections } from '../records.js';
import type { ConnectionSecrets } from '../upstream/secrets.js';
import { described } from './rules.js';
import { seedForm } from './schemas.js';
import { ConnectionWrites } from './writes.js';

const by = { actor: 'seed' };
const seeds = { by, vouchedBy: { by: 'operator' } } as const;

interface Parts {
  readonly lookup: ConnectionLookup;
  readonly secrets: ConnectionSecrets;
}

export const connectionSeed = (partsOf: (context: ExtensionContext) => Parts): ExtensionSeed =>
  defineSeed({
    form: seedForm,
    pieces(seeded, context, { tenantId }) {
      const { lookup, secrets } = partsOf(context);
      const writes = new ConnectionWrites({ context, lookup, secrets });
      const { hashes } = context.keys.seal('connections seeded secret');
      return seeded.map(({ tenant, clientSecret, ...given }) => {
        const { id, createUsersIn } = given;
        const place = { id, tid: tenant === undefined ? context.records.ofInstance : tenantId(tenant) };
        const users = createUsersIn === undefined ? {} : { createUsersIn: tenantId(createUsersIn) };
        const fields = described({ ...given, ...users }, context);
        const digest = async (row: Connection) => {
          const secret = secrets.secretOf(row);
          return secret === undefined ? undefined : hashes(secret)[0];
        };
        const apart = (secret: string): SeedPart<Connection> => ({
          field: 'clientSecret',
          once: hashes(secret)[0],
          digest,
          seedDigest: digest,
          isEqual: async (row) => secrets.secretOf(row) === secret,
          set: () => writes.setSecret(place, secret, by),
        });
        return {
          collection: 'connections.connections' as const,
          id,
          fields: { ...fields },
          find: () => context.records.collection(connections, place.tid).get(id),
          create: () => writes.create(place, fields, clientSecret, seeds),
          update: (_: string, patch: Readonly<Record<string, unknown>>) => writes.update(place, patch, seeds),
          ...(clientSecret === undefined ? {} : { apart: apart(clientSecret) as SeedPart<{ readonly id: string }> }),
        };
      });
    },
  });
