/**
 * Two services that callers cannot tell apart: the same issuer, keys and records. The first service answers plain requests directly. The
 * second has the option `configure`, so that oidc-provider answers all requests. The first service can also get a request in a form that
 * reaches its handlers through oidc-provider. In addition, oidc-provider runs by itself over the same records. In a comparison, writes are
 * recorded and not done, so that each request finds the same records.
 */
import { createServer, Agent as HttpAgent, type IncomingHttpHeaders, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import Koa from 'koa';
import { createIdentityProvider, type IdentityProvider, type IdentityProviderOptions } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { UnavailableError } from '../../../lib/errors.js';
import { recordIn, textOf } from '../../../lib/oidc/artifacts/short-form.js';
import type { Artifact, ArtifactKey, ArtifactStore, ArtifactWrite, Put } from '../../../lib/store/artifact-store.js';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import type { PendingEvent } from '../../../lib/store/records/records.js';
import { withCollections } from '../../store/with-collections.js';
import { type BareProvider, startBareProvider } from '../requests/bare-provider.js';
import { testKeys } from './keys.js';
import { cheapPasswords, type testSeed } from './seed.js';

export interface TwinRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Visible parts of an answer, and written records. */
export interface Outcome {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly writes: readonly unknown[];
  /** Log lines at info and above, without the id of the request. */
  readonly lines: readonly unknown[];
}

/**
 * A fault of the stores in one request: the operation that fails, or the kind of the record that another request has just changed or
 * removed. `later read` fails every read except the first.
 */
export type Fault = 'read' | 'later read' | 'commit' | 'persons' | `removed ${string}` | `changed ${string}`;

/** The answer of oidc-provider by itself. */
export interface BareOutcome extends Omit<Outcome, 'writes' | 'lines'> {
  /** The authenticated caller. */
  readonly caller: string | undefined;
  readonly isStopped: BareProvider['isStopped'];
}

export interface Outcomes {
  /** Answer of the service's own handlers. */
  readonly direct: Outcome;
  /** Answer of oidc-provider's handlers, within the service. */
  readonly other: Outcome;
  readonly bare: BareOutcome;
}

export interface Twins {
  readonly issuer: string;
  /** The service that answers directly. Writes of this service are done until the first comparison. */
  readonly idp: IdentityProvider;
  /** Returns all answers to a request. Every counter returns `hits`. From the first call on, requests write nothing any more. */
  compare(request: TwinRequest, hits: number): Promise<Outcomes>;
  /** Compares as {@link compare} does, without oidc-provider by itself. */
  both(request: TwinRequest, fault?: Fault): Promise<Omit<Outcomes, 'bare'>>;
  /** Returns answers of the first service: directly, within a Koa app of a host, and through oidc-provider. */
  doors(request: TwinRequest, hits: number, fault?: Fault): Promise<Readonly<Record<'direct' | 'mounted' | 'through', Outcome>>>;
  /** Changes a stored record while nothing is compared. */
  edit(kind: string, change: (record: Record<string, unknown>, key: string) => void): Promise<void>;
  /** The store of the directory. */
  readonly directory: DirectoryStore;
  readonly logged: readonly unknown[];
  /** Ids and keys in the records that were written before comparisons. */
  readonly known: ReadonlySet<string>;
  close(): Promise<void>;
}

/** Headers that are not compared: of the connection, and of the time. */
const uncompared = ['date', 'connection', 'keep-alive', 'transfer-encoding'];

const subjectSalt = 'salt of the test tenant identities';

/** @param secrets of the seed's clients and API resources, by id. */
export async function startTwins(
  seed: typeof testSeed,
  secrets: ReadonlyMap<string, string>,
  options: Partial<IdentityProviderOptions> = {},
): Promise<Twins> {
  const memory = memoryArtifacts();
  const rows = memoryDirectory();
  const buried = new Set<ArtifactKey>();
  const known = new Set<string>();
  let recording = false;
  let hits = 1;
  let fault: Fault | undefined;
  let reads = 0;
  const all = new Set<ArtifactKey>();

  /** Returns the stored artifacts as if another request has just changed or removed one of them. */
  const afterOthers = async (asked: Parameters<ArtifactStore['read']>[0], [what, key]: [what?: string, key?: ArtifactKey]) => {
    const found = await memory.read(asked);
    const artifact = key && found.get(key);
    if (!key || !artifact) return found;
    const others = new Map(found);
    if (what === 'removed') others.delete(key);
    else others.set(key, { ...artifact, version: artifact.version + 1 });
    return others;
  };

  /** Returns the stores of one of the two services. */
  const storesOf = (
    written: unknown[],
    beaten: [what?: string, key?: ArtifactKey],
  ): { artifacts: ArtifactStore; directory: DirectoryStore } => ({
    artifacts: {
      ...memory,
      async read(asked) {
        reads += 1;
        if (fault === 'read' || (fault === 'later read' && reads > 1))
          throw new UnavailableError('store_unavailable', { store: 'artifacts' }, {});
        return afterOthers(asked, beaten);
      },
      async commit(writes) {
        if (!recording) {
          for (const write of writes) {
            all.add(write.key);
            known.add(write.key);
            if (write.op === 'remove') buried.add(write.key);
            else for (const [id] of write.value.matchAll(/[\w-]{11}[acgkpr][\w-]{32}/g)) known.add(id);
          }
          return memory.commit(writes);
        }
        if (fault === 'commit') throw new UnavailableError('store_unavailable', { store: 'artifacts' }, {});
        const [what, kind] = (fault ?? '').split(' ');
        const beatenKey = kind && beaten.length === 0 ? writes.find(({ key }) => key.startsWith(`${kind}{`))?.key : undefined;
        if (beatenKey) {
          beaten.push(what, beatenKey);
          return { ok: false, lost: beatenKey };
        }
        const found = await afterOthers(
          writes.map(({ key }) => ({ key })),
          beaten,
        );
        const lost = writes.find((write) => write.op === 'put' && !(holds(write, found.get(write.key)) && !buried.has(write.key)));
        if (lost) return { ok: false, lost: lost.key };
        written.push(...writes);
        return { ok: true };
      },
      async hit(counter, window, by) {
        if (!recording) return memory.hit(counter, window, by);
        written.push({ hit: counter, window, by });
        return { count: hits, resetsAt: Date.now() + window };
      },
    },
    // Token requests raise events that change no record. Each of these events is one insert.
    directory: withCollections(rows, (collection, name) => {
      if (name !== 'accountEvents') return {};
      return {
        async insert(row) {
          if (!recording) return collection.insert(row);
          const { pendingEvents } = row as unknown as { pendingEvents: readonly PendingEvent[] };
          written.push({ events: pendingEvents.map(({ id, type, data }) => ({ event: id, type, data })) });
          return { ...row, version: 1 } as never;
        },
      };
    }),
  });

  const servers = [createServer(), createServer(), createServer(), createServer()] as const;
  // A busy process would end a connection while a request is on its way.
  for (const server of servers) server.keepAliveTimeout = 0;
  await Promise.all(servers.map((server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))));
  const issuer = originOf(servers[0]);
  const logged: unknown[] = [];
  const keep = (...data: unknown[]) => void logged.push(data);
  const start = async (server: Server, configured: boolean) => {
    const written: unknown[] = [];
    const lines: unknown[] = [];
    const beaten: [what?: string, key?: ArtifactKey] = [];
    const line = (about: unknown, text: unknown) => {
      const { requestId: _, err, ...rest } = about as Record<string, unknown>;
      if (recording) lines.push([rest, `${err ?? ''}`, text]);
    };
    const idp = await createIdentityProvider({
      issuer,
      ...storesOf(written, beaten),
      seed,
      keys: { signing: testKeys, encryption: ['what the twins encrypt with, all of it'] },
      cookies: { keys: ['what the twins sign cookies with, too'] },
      subjectSalt,
      passwords: cheapPasswords,
      logger: {
        debug: () => {},
        info: line as never,
        warn: line as never,
        error: ((...data: unknown[]) => {
          keep(...data);
          line(data[0], data[1]);
        }) as never,
      },
      ...options,
      ...(configured ? { configure: () => {} } : {}),
    });
    server.on('request', idp.callback());
    return { idp, written, lines, beaten, origin: originOf(server) };
  };
  const direct = await start(servers[0], false);
  const other = await start(servers[1], true);
  servers[3].on('request', new Koa().use(direct.idp.middleware()).callback());
  const agent = new HttpAgent({ keepAlive: true });

  const startBare = async () => {
    const bare = await startBareProvider({ issuer, artifacts: memory, directory: rows, keys: testKeys, secrets, subjectSalt });
    servers[2].on('request', bare.callback);
    return bare;
  };
  let starting: ReturnType<typeof startBare> | undefined;

  const outcomeOf = async ({ origin, written, lines, beaten }: typeof direct, asked: TwinRequest): Promise<Outcome> => {
    beaten.length = 0;
    reads = 0;
    const answer = await send(agent, origin, asked);
    return { ...answer, writes: written.splice(0), lines: lines.splice(0) };
  };

  return {
    issuer,
    idp: direct.idp,
    directory: rows,
    logged,
    known,
    async compare(asked, count) {
      recording = true;
      hits = count;
      starting ??= startBare();
      const bare = await starting;
      return {
        direct: await outcomeOf(direct, asked),
        other: await outcomeOf(other, asked),
        // oidc-provider takes the URLs of its endpoints from the request.
        bare: {
          ...(await send(agent, originOf(servers[2]), { ...asked, headers: { ...asked.headers, host: new URL(issuer).host } })),
          caller: bare.caller(),
          isStopped: bare.isStopped,
        },
      };
    },
    async both(asked, failing) {
      recording = true;
      fault = failing;
      try {
        return { direct: await outcomeOf(direct, asked), other: await outcomeOf(other, asked) };
      } finally {
        fault = undefined;
      }
    },
    async doors(asked, count, failing) {
      recording = true;
      hits = count;
      fault = failing;
      try {
        return {
          direct: await outcomeOf(direct, asked),
          mounted: await outcomeOf({ ...direct, origin: originOf(servers[3]) }, asked),
          through: await outcomeOf(direct, unusual(asked)),
        };
      } finally {
        fault = undefined;
      }
    },
    async edit(kind, change) {
      for (const [key, found] of await memory.read([...all].filter((each) => each.startsWith(`${kind}{`)).map((each) => ({ key: each })))) {
        if (!found) continue;
        const { version, ...artifact } = found;
        const record = recordIn(kind, found) as Record<string, unknown>;
        change(record, key);
        const account = typeof record.accountId === 'string' && artifact.account !== undefined ? { account: record.accountId } : {};
        await memory.commit([{ op: 'put', ...artifact, ...account, value: textOf(kind, record), if: { version } }]);
      }
    },
    async close() {
      agent.destroy();
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
      await Promise.all([direct.idp.close(), other.idp.close()]);
    },
  };
}

/** Returns the same request, left to oidc-provider: its form has no length, or the request has a header that its endpoint does not read. */
function unusual({ headers, ...request }: TwinRequest): TwinRequest {
  const { 'content-length': length, ...others } = headers;
  if (length !== undefined) return { ...request, headers: { ...others, 'transfer-encoding': 'chunked' } };
  return { ...request, headers: { ...headers, 'oauth-client-attestation-pop': 'x' } };
}

const originOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function holds({ if: condition }: Put, current: Artifact | undefined): boolean {
  if (condition === undefined) return true;
  if (condition === 'absent') return current === undefined;
  if (condition === 'unconsumed') return current !== undefined && current.consumedAt === undefined;
  return current?.version === condition.version;
}

const send = (agent: HttpAgent, origin: string, { method, path, headers, body }: TwinRequest): Promise<Omit<Outcome, 'writes' | 'lines'>> =>
  new Promise((resolve, reject) => {
    const sent = request(origin + path, { agent, method, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject).on('end', () => {
        const compared = { ...response.headers };
        for (const name of uncompared) delete compared[name];
        resolve({ status: response.statusCode ?? 0, headers: compared, body: Buffer.concat(parts).toString() });
      });
    });
    sent.on('error', reject).end(body);
  });

/** An {@link Outcome} in the form in which two are compared. */
export interface Comparable {
  readonly status: number;
  readonly headers: unknown;
  readonly body: string;
  readonly writes: unknown;
}

/**
 * Returns an outcome without its random parts. New ids are replaced by their kind. Signatures of JWTs are left out, because ES256 makes
 * another signature each time.
 * @param isChance whether an id or key is new, and not derived from earlier records.
 */
export function withoutChance({ status, headers, body, writes }: Omit<Outcome, 'lines'>, isChance: (id: string) => boolean): Comparable {
  const plain = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(plain);
    // Members have no order. @see RFC 8259 §4
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, each]) => [name, name === 'spentBy' ? 'a nonce' : plain(each)]),
      );
    if (typeof value !== 'string') return value;
    const parts = /^(eyJ[\w-]+)\.([\w-]*)\.[\w-]*$/.exec(value);
    if (parts) return parts.slice(1).map((part) => plain(JSON.parse(Buffer.from(part, 'base64url').toString())));
    return value.replace(/[\w-]{11}[acgkpr][\w-]{32}/g, (id) => (isChance(id) ? `<${id[11]}>` : id));
  };
  const keyOf = (key: string): string => (isChance(key) ? `${key.slice(0, key.indexOf('{'))}<new>` : key);
  const write = (one: unknown): unknown => {
    const { op, key, value, links, ...rest } = one as ArtifactWrite & Partial<Put>;
    if (op === undefined) return one;
    return {
      op,
      key: keyOf(key),
      value: value === undefined ? undefined : plain(JSON.parse(value)),
      links: links && Object.fromEntries(Object.entries(links).map(([name, link]) => [name, keyOf(link)])),
      ...rest,
    };
  };
  const isPage = `${headers['content-type']}`.startsWith('text/html');
  return {
    status,
    headers: isPage ? Object.keys(headers).sort() : headers,
    body: isPage ? 'a page' : body.startsWith('{') ? JSON.stringify(plain(JSON.parse(body))) : body,
    // The order of writes within a commit does not matter.
    writes: writes.map(write).sort((a, b) => (inspect(a) < inspect(b) ? -1 : 1)),
  };
}
