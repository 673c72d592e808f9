/** Connections as they are written, by the admin API and by a seed. */
import { type Attribution, type ExtensionContext, IdpError, present, type Voucher } from '../../../lib/extension-door.js';
import type { ConnectionBook } from '../book.js';
import { METHOD } from '../people/openings.js';
import { type Connection, type ConnectionFields, connections } from '../records.js';
import { type ConnectionSecrets, withKey } from '../upstream/secrets.js';
import { vouchersOf } from '../vouchers.js';
import { giveUpDomains, lostDomain, takeDomains } from './domains.js';
import { checked, type Described, wrong } from './rules.js';

export interface Place {
  /** Of a tenant, or `ofInstance`. */
  readonly tid: string;
  readonly id: string;
}

/** The place of a new connection. */
export interface NewPlace extends Place {
  /** ISO 8601. @default now */
  readonly createdAt?: string;
}

export interface ConnectionWrites {
  /** @throws IdpError `invalid_record`; `conflict` when a method, a connection or a trusted client has the id, or another connection a domain. */
  create(place: NewPlace, given: Described, clientSecret: string | undefined, writer: Writer): Promise<Connection>;
  /** @throws IdpError `not_found`, `invalid_record`, `conflict` */
  update(place: Place, patch: Readonly<Record<string, unknown>>, writer: Writer): Promise<Connection>;
  setSecret(place: Place, clientSecret: string, by: Attribution): Promise<Connection>;
  rotateKey(place: Place, by: Attribution): Promise<Connection>;
  remove(place: Place, by: Attribution): Promise<void>;
}

/** The writer of a connection, and the writer's voucher. */
export interface Writer {
  readonly by: Attribution;
  readonly vouchedBy: Voucher;
}

const reserved: ReadonlySet<string> = new Set(['local', 'password', 'passkey', METHOD]);

export function createWrites(context: ExtensionContext, book: ConnectionBook, secrets: ConnectionSecrets): ConnectionWrites {
  const {
    records: { collection },
    directory,
    service: { production },
  } = context;
  const rowsOf = ({ tid }: Place) => collection(connections, tid);
  type Type = 'ConnectionCreated' | 'ConnectionUpdated' | 'ConnectionRemoved' | 'ConnectionSecretAdded';
  const event = (type: Type, { id }: Place, by: Attribution) => [{ type, data: { AggregateId: id }, by }];

  async function found(place: Place): Promise<Connection> {
    const row = await rowsOf(place).get(place.id);
    if (row === undefined) throw new IdpError('not_found');
    return row;
  }

  function checkAuth({ clientAuth }: Pick<ConnectionFields, 'clientAuth'>, hasSecret: boolean): void {
    if (clientAuth === 'private_key_jwt' && hasSecret) throw wrong('/clientSecret', 'no secret with private_key_jwt');
    if (clientAuth !== 'private_key_jwt' && !hasSecret) throw wrong('/clientSecret', `a secret with ${clientAuth}`);
  }

  /** With a key where it needs one; a secret that is not used any more goes. */
  async function withMeans(id: string, row: ConnectionFields): Promise<ConnectionFields> {
    const { secret, ...rest } = row;
    if (row.clientAuth !== 'private_key_jwt') return { ...rest, keys: [], ...present({ secret }) };
    const isThere = row.keys[0]?.alg === row.keyAlgorithm;
    return { ...rest, keys: isThere ? row.keys : withKey(row.keys, await secrets.newKey(id, row.keyAlgorithm)) };
  }

  const changed = async (place: Place, change: (row: Connection) => ConnectionFields | Connection, type: Type, by: Attribution) => {
    return rowsOf(place).update(place.id, change, event(type, place, by));
  };

  return {
    async create({ createdAt = new Date(context.service.now()).toISOString(), ...place }, given, clientSecret, { by, vouchedBy }) {
      const { id } = place;
      if (reserved.has(id) || (await directory.policies.offers(id))) throw new IdpError('conflict', { path: '/id' });
      checkAuth(given, clientSecret !== undefined);
      const secret = clientSecret === undefined ? {} : { secret: secrets.seal(id, clientSecret) };
      const fields = await withMeans(id, {
        ...given,
        ...secret,
        ...vouchersOf(given, vouchedBy),
        keys: [],
        createdAt,
        updatedAt: createdAt,
      });
      await takeDomains(context, book, place, given.domains);
      try {
        return await directory.idpNames.hold(id, 'connection', {
          async write() {
            const row = await rowsOf(place).insert(fields, { id, events: event('ConnectionCreated', place, by) });
            const lost = await lostDomain(context, row);
            if (lost === undefined) return row;
            await rowsOf(place).remove(id, event('ConnectionRemoved', place, by));
            throw new IdpError('conflict', { path: `/domains/${lost}` });
          },
          async undo() {
            // After a timeout, another request may have made the connection that is there.
            if ((await rowsOf(place).get(id))?.createdAt !== fields.createdAt) return;
            await rowsOf(place).remove(id, event('ConnectionRemoved', place, by));
          },
        });
      } catch (error) {
        // After a timeout the store may still create the connection, so it keeps its domains. If the store does not, the domains are free nevertheless.
        const isMadeYet = IdpError.is(error, 'store_unavailable') || (await book.get(id)) !== undefined;
        if (!isMadeYet) await giveUpDomains(context, id, given.domains);
        throw IdpError.is(error, 'conflict') && error.details.path === undefined ? new IdpError('conflict', { path: '/id' }) : error;
      }
    },

    async update(place, patch, { by, vouchedBy }) {
      const before = await found(place);
      const patched = (row: Connection): Connection => {
        const next: Record<string, unknown> = { ...row };
        for (const [name, value] of Object.entries(patch)) {
          if (value === null) delete next[name];
          else if (value !== undefined) next[name] = value;
        }
        return { ...next, ...checked(next as unknown as Described, production) } as unknown as Connection;
      };
      const next = patched(before);
      if (next.clientAuth !== 'private_key_jwt') checkAuth(next, next.secret !== undefined);
      const means = await withMeans(place.id, next);
      const fresh = next.domains.filter((domain) => !before.domains.includes(domain));
      await takeDomains(context, book, place, fresh);
      const change = (current: Connection): Connection => {
        const next = patched(current);
        const { secret: _, vouchedBy: __, groupVouchers: ___, ...rest } = next;
        const kept = means.clientAuth === 'private_key_jwt' || current.secret === undefined ? {} : { secret: current.secret };
        return {
          ...rest,
          ...kept,
          ...vouchersOf(rest, vouchedBy, current),
          keys: means.keys,
          updatedAt: new Date(context.service.now()).toISOString(),
        } as unknown as Connection;
      };
      const write = () => changed(place, change, 'ConnectionUpdated', by);
      const disabled = (current: Connection) => ({ ...current, status: 'disabled' as const });
      const row =
        next.status === 'active' && before.status !== 'active'
          ? await directory.idpNames.hold(place.id, 'connection', {
              write,
              undo: () => changed(place, disabled, 'ConnectionUpdated', by),
            })
          : await write();
      const lost = await lostDomain(context, { id: place.id, domains: fresh });
      if (lost !== undefined) {
        const without = ({ domains, ...current }: Connection) => ({
          ...current,
          domains: domains.filter((domain) => domain !== fresh[lost]),
        });
        await changed(place, without, 'ConnectionUpdated', by);
        throw new IdpError('conflict', { path: `/domains/${next.domains.indexOf(fresh[lost] ?? '')}` });
      }
      await giveUpDomains(
        context,
        place.id,
        before.domains.filter((domain) => !row.domains.includes(domain)),
      );
      return row;
    },

    async setSecret(place, clientSecret, by) {
      const { clientAuth } = await found(place);
      if (clientAuth === 'private_key_jwt') throw wrong('/clientSecret', 'no secret with private_key_jwt');
      const secret = secrets.seal(place.id, clientSecret);
      return changed(
        place,
        (row) => ({ ...row, secret, updatedAt: new Date(context.service.now()).toISOString() }),
        'ConnectionSecretAdded',
        by,
      );
    },

    async rotateKey(place, by) {
      const { clientAuth, keyAlgorithm } = await found(place);
      if (clientAuth !== 'private_key_jwt') throw wrong('/clientAuth', 'private_key_jwt');
      const key = await secrets.newKey(place.id, keyAlgorithm);
      const next = (row: Connection) => ({
        ...row,
        keys: withKey(row.keys, key),
        updatedAt: new Date(context.service.now()).toISOString(),
      });
      return changed(place, next, 'ConnectionSecretAdded', by);
    },

    async remove(place, by) {
      // The domains of a connection that cannot be read are free for the next connection that takes them.
      const { domains = [] } = (await rowsOf(place).get(place.id)) ?? {};
      await rowsOf(place).remove(place.id, event('ConnectionRemoved', place, by));
      await directory.idpNames.release(place.id, 'connection');
      await giveUpDomains(context, place.id, domains);
    },
  };
}
