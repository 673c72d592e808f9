/** Writes of connections, for the admin API and for a seed. */
import { type Attribution, type ExtensionContext, IdpError, present, type Voucher } from '../../../lib/extension-door.js';
import type { ConnectionLookup } from '../lookup.js';
import { METHOD } from '../people/openings.js';
import { type Connection, type ConnectionFields, connections } from '../records.js';
import { type ConnectionSecrets, withKey } from '../upstream/secrets.js';
import { vouchersOf } from '../vouchers.js';
import { giveUpDomains, lostDomain, takeDomains } from './domains.js';
import { checked, type Described, wrong } from './rules.js';

export interface Place {
  /** Id of the tenant, or `ofInstance`. */
  readonly tid: string;
  readonly id: string;
}

/** Place of a new connection. */
export interface NewPlace extends Place {
  /** ISO 8601. @default now */
  readonly createdAt?: string;
}

/** The writer of a connection, and the writer's voucher. */
export interface Writer {
  readonly by: Attribution;
  readonly vouchedBy: Voucher;
}

const reserved: ReadonlySet<string> = new Set(['local', 'password', 'passkey', METHOD]);

interface WriteParts {
  readonly context: ExtensionContext;
  readonly lookup: ConnectionLookup;
  readonly secrets: ConnectionSecrets;
}

type EventType = 'ConnectionCreated' | 'ConnectionUpdated' | 'ConnectionRemoved' | 'ConnectionSecretAdded';
const event = (type: EventType, { id }: Place, by: Attribution) => [{ type, data: { AggregateId: id }, by }];

export class ConnectionWrites {
  readonly #context: ExtensionContext;
  readonly #lookup: ConnectionLookup;
  readonly #secrets: ConnectionSecrets;

  constructor({ context, lookup, secrets }: WriteParts) {
    this.#context = context;
    this.#lookup = lookup;
    this.#secrets = secrets;
  }

  /**
   * Creates a connection.
   * @throws IdpError `invalid_record`; `conflict` if a method, a connection or a trusted client has the id, or another connection has a domain
   */
  async create(
    { createdAt = this.#now(), ...place }: NewPlace,
    given: Described,
    clientSecret: string | undefined,
    { by, vouchedBy }: Writer,
  ): Promise<Connection> {
    const { directory } = this.#context;
    const { id } = place;
    if (reserved.has(id) || (await directory.policies.offers(id))) throw new IdpError('conflict', { path: '/id' });
    checkAuth(given, clientSecret !== undefined);
    const secret = clientSecret === undefined ? {} : { secret: this.#secrets.seal(id, clientSecret) };
    const fields = await this.#withMeans(id, {
      ...given,
      ...secret,
      ...vouchersOf(given, vouchedBy),
      keys: [],
      createdAt,
      updatedAt: createdAt,
    });
    await takeDomains(this.#context, this.#lookup, place, given.domains);
    try {
      return await this.#insert(place, fields, by);
    } catch (error) {
      // After a timeout the store may still create the connection, so its domains stay reserved. If the store does not create it, the domains are free
      // anyway.
      const isMadeYet = IdpError.is(error, 'store_unavailable') || (await this.#lookup.get(id)) !== undefined;
      if (!isMadeYet) await giveUpDomains(this.#context, id, given.domains);
      throw IdpError.is(error, 'conflict') && error.details.path === undefined ? new IdpError('conflict', { path: '/id' }) : error;
    }
  }

  /** Changes a connection. @throws IdpError `not_found`, `invalid_record`, `conflict` */
  async update(place: Place, patch: Readonly<Record<string, unknown>>, { by, vouchedBy }: Writer): Promise<Connection> {
    const { production } = this.#context.service;
    const before = await this.#require(place);
    const next = patched(before, patch, production);
    if (next.clientAuth !== 'private_key_jwt') checkAuth(next, next.secret !== undefined);
    const means = await this.#withMeans(place.id, next);
    const added = next.domains.filter((domain) => !before.domains.includes(domain));
    await takeDomains(this.#context, this.#lookup, place, added);
    const change = (current: Connection): Connection => {
      const { secret: _, vouchedBy: __, groupVouchers: ___, ...rest } = patched(current, patch, production);
      const secret = means.clientAuth === 'private_key_jwt' || current.secret === undefined ? {} : { secret: current.secret };
      return {
        ...rest,
        ...secret,
        ...vouchersOf(rest, vouchedBy, current),
        keys: means.keys,
        updatedAt: this.#now(),
      } as unknown as Connection;
    };
    const isEnabled = next.status === 'active' && before.status !== 'active';
    const row = await (isEnabled ? this.#enable(place, change, by) : this.#change(place, change, 'ConnectionUpdated', by));
    await this.#checkDomains(place, { added, all: next.domains }, by);
    await giveUpDomains(
      this.#context,
      place.id,
      before.domains.filter((domain) => !row.domains.includes(domain)),
    );
    return row;
  }

  async setSecret(place: Place, clientSecret: string, by: Attribution): Promise<Connection> {
    const { clientAuth } = await this.#require(place);
    if (clientAuth === 'private_key_jwt') throw wrong('/clientSecret', 'no secret with private_key_jwt');
    const secret = this.#secrets.seal(place.id, clientSecret);
    return this.#change(place, (row) => ({ ...row, secret, updatedAt: this.#now() }), 'ConnectionSecretAdded', by);
  }

  async rotateKey(place: Place, by: Attribution): Promise<Connection> {
    const { clientAuth, keyAlgorithm } = await this.#require(place);
    if (clientAuth !== 'private_key_jwt') throw wrong('/clientAuth', 'private_key_jwt');
    const key = await this.#secrets.newKey(place.id, keyAlgorithm);
    const next = (row: Connection) => ({ ...row, keys: withKey(row.keys, key), updatedAt: this.#now() });
    return this.#change(place, next, 'ConnectionSecretAdded', by);
  }

  async remove(place: Place, by: Attribution): Promise<void> {
    const rows = this.#rowsOf(place);
    // If the connection cannot be read, its domains are free for the next connection that takes them.
    const { domains = [] } = (await rows.get(place.id)) ?? {};
    await rows.remove(place.id, event('ConnectionRemoved', place, by));
    await this.#context.directory.idpNames.release(place.id, 'connection');
    await giveUpDomains(this.#context, place.id, domains);
  }

  /** Writes a new connection, and holds its id against clients with `trustedLoginHint`. @throws IdpError `conflict` */
  #insert(place: Place, fields: ConnectionFields, by: Attribution): Promise<Connection> {
    const { id } = place;
    const rows = this.#rowsOf(place);
    return this.#context.directory.idpNames.hold(id, 'connection', {
      write: async () => {
        const row = await rows.insert(fields, { id, events: event('ConnectionCreated', place, by) });
        const lost = await lostDomain(this.#context, row);
        if (lost === undefined) return row;
        await rows.remove(id, event('ConnectionRemoved', place, by));
        throw new IdpError('conflict', { path: `/domains/${lost}` });
      },
      undo: async () => {
        // After a timeout, another request may have created the stored connection.
        if ((await rows.get(id))?.createdAt !== fields.createdAt) return;
        await rows.remove(id, event('ConnectionRemoved', place, by));
      },
    });
  }

  /** Writes a connection that becomes active, and holds its id, which a client may have got since. @throws IdpError `conflict` */
  #enable(place: Place, change: (row: Connection) => Connection, by: Attribution): Promise<Connection> {
    const disabled = (current: Connection) => ({ ...current, status: 'disabled' as const });
    return this.#context.directory.idpNames.hold(place.id, 'connection', {
      write: () => this.#change(place, change, 'ConnectionUpdated', by),
      undo: () => this.#change(place, disabled, 'ConnectionUpdated', by),
    });
  }

  /** Removes from the connection a domain that another connection has taken since. @throws IdpError `conflict` */
  async #checkDomains(
    place: Place,
    { added, all }: { readonly added: readonly string[]; readonly all: readonly string[] },
    by: Attribution,
  ): Promise<void> {
    const lost = await lostDomain(this.#context, { id: place.id, domains: added });
    if (lost === undefined) return;
    const without = ({ domains, ...current }: Connection) => ({
      ...current,
      domains: domains.filter((domain) => domain !== added[lost]),
    });
    await this.#change(place, without, 'ConnectionUpdated', by);
    throw new IdpError('conflict', { path: `/domains/${all.indexOf(added[lost] ?? '')}` });
  }

  async #require(place: Place): Promise<Connection> {
    const row = await this.#rowsOf(place).get(place.id);
    if (row === undefined) throw new IdpError('not_found');
    return row;
  }

  /**
   * Returns the connection with the key pairs or the secret that its `clientAuth` needs, and without members of the other kind. Generates a key pair if the
   * newest key pair has another algorithm.
   */
  async #withMeans(id: string, row: ConnectionFields): Promise<ConnectionFields> {
    const { secret, ...rest } = row;
    if (row.clientAuth !== 'private_key_jwt') return { ...rest, keys: [], ...present({ secret }) };
    const isThere = row.keys[0]?.alg === row.keyAlgorithm;
    return { ...rest, keys: isThere ? row.keys : withKey(row.keys, await this.#secrets.newKey(id, row.keyAlgorithm)) };
  }

  #change(place: Place, change: (row: Connection) => ConnectionFields | Connection, type: EventType, by: Attribution): Promise<Connection> {
    return this.#rowsOf(place).update(place.id, change, event(type, place, by));
  }

  #rowsOf({ tid }: Place) {
    return this.#context.records.collection(connections, tid);
  }

  #now(): string {
    return new Date(this.#context.service.now()).toISOString();
  }
}

function checkAuth({ clientAuth }: Pick<ConnectionFields, 'clientAuth'>, hasSecret: boolean): void {
  if (clientAuth === 'private_key_jwt' && hasSecret) throw wrong('/clientSecret', 'no secret with private_key_jwt');
  if (clientAuth !== 'private_key_jwt' && !hasSecret) throw wrong('/clientSecret', `a secret with ${clientAuth}`);
}

/** Returns the connection with the patch applied. Null removes a member. @throws IdpError `invalid_record` */
function patched(row: Connection, patch: Readonly<Record<string, unknown>>, production: boolean): Connection {
  const next: Record<string, unknown> = { ...row };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete next[name];
    else if (value !== undefined) next[name] = value;
  }
  return { ...next, ...checked(next as unknown as Described, production) } as unknown as Connection;
}
