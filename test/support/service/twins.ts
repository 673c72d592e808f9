/**
 * Two services that are one to their callers: the same issuer, keys and records. One answers plain requests directly; the other is configured, so
 * that oidc-provider answers all. Beside them is oidc-provider by itself, over the same records. In a comparison what they write is recorded and not
 * done, so each request finds the same records.
 */
import { createServer, Agent as HttpAgent, type IncomingHttpHeaders, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
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
}

/** The answer of oidc-provider by itself. */
export interface BareOutcome extends Omit<Outcome, 'writes'> {
  /** The authenticated caller. */
  readonly caller: string | undefined;
  readonly isStopped: BareProvider['isStopped'];
}

export interface Outcomes {
  /** Answered by our handlers. */
  readonly direct: Outcome;
  /** Answered by oidc-provider's handlers, within the service. */
  readonly other: Outcome;
  readonly bare: BareOutcome;
}

export interface Twins {
  readonly issuer: string;
  /** The one that answers directly, whose writes are done until {@link compare} is called first. */
  readonly idp: IdentityProvider;
  /** All answers to a request; `hits` is what every counter says. From the first call on nothing is written any more. */
  compare(request: TwinRequest, hits: number): Promise<Outcomes>;
  /** The store of the directory. */
  readonly directory: DirectoryStore;
  readonly logged: readonly unknown[];
  /** Ids and keys in what was written before. */
  readonly known: ReadonlySet<string>;
  close(): Promise<void>;
}

/** Connection headers, and those that tell the time. */
const uncompared = ['date', 'connection', 'keep-alive', 'transfer-encoding'];

const subjectSalt = 'salt of the test tenant identities';

/** @param secrets of the seed's clients and API resources, by id. */
export async function startTwins(seed: typeof testSeed, secrets: ReadonlyMap<string, string>): Promise<Twins> {
  const memory = memoryArtifacts();
  const rows = memoryDirectory();
  const buried = new Set<ArtifactKey>();
  const known = new Set<string>();
  let recording = false;
  let hits = 1;

  /** Stores of one of the two. */
  const storesOf = (written: unknown[]): { artifacts: ArtifactStore; directory: DirectoryStore } => ({
    artifacts: {
      ...memory,
      async commit(writes) {
        if (!recording) {
          for (const write of writes) {
            known.add(write.key);
            if (write.op === 'remove') buried.add(write.key);
            else for (const [id] of write.value.matchAll(/[\w-]{11}[acgkpr][\w-]{32}/g)) known.add(id);
          }
          return memory.commit(writes);
        }
        const found = await memory.read(writes.map(({ key }) => ({ key })));
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
    directory: withCollections(rows, (collection, name) => {
      if (name !== 'persons') return {};
      return {
        async update(id, change) {
          if (!recording) return collection.update(id, change);
          const row = await collection.get(id);
          if (!row) return undefined;
          const next = change(row);
          const events = (next as unknown as { pendingEvents: PendingEvent[] }).pendingEvents;
          if (next !== row) written.push({ events: events.map(({ id: event, type, data }) => ({ event, type, data })) });
          return row;
        },
      };
    }),
  });

  const servers = [createServer(), createServer(), createServer()] as const;
  // A busy process would end a connection while a request is on its way.
  for (const server of servers) server.keepAliveTimeout = 0;
  await Promise.all(servers.map((server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))));
  const issuer = originOf(servers[0]);
  const logged: unknown[] = [];
  const keep = (...data: unknown[]) => void logged.push(data);
  const start = async (server: Server, configured: boolean) => {
    const written: unknown[] = [];
    const idp = await createIdentityProvider({
      issuer,
      ...storesOf(written),
      seed,
      keys: { signing: testKeys, encryption: ['what the twins encrypt with, all of it'] },
      cookies: { keys: ['what the twins sign cookies with, too'] },
      subjectSalt,
      passwords: cheapPasswords,
      logger: { debug: () => {}, info: () => {}, warn: () => {}, error: keep },
      ...(configured ? { configure: () => {} } : {}),
    });
    server.on('request', idp.callback());
    return { idp, written, origin: originOf(server) };
  };
  const direct = await start(servers[0], false);
  const other = await start(servers[1], true);
  const agent = new HttpAgent({ keepAlive: true });

  const startBare = async () => {
    const bare = await startBareProvider({ issuer, artifacts: memory, directory: rows, keys: testKeys, secrets, subjectSalt });
    servers[2].on('request', bare.callback);
    return bare;
  };
  let starting: ReturnType<typeof startBare> | undefined;

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
      const outcomeOf = async ({ origin, written }: typeof direct): Promise<Outcome> => {
        const answer = await send(agent, origin, asked);
        return { ...answer, writes: written.splice(0) };
      };
      return {
        direct: await outcomeOf(direct),
        other: await outcomeOf(other),
        // It takes the URLs of its endpoints from the request.
        bare: {
          ...(await send(agent, originOf(servers[2]), { ...asked, headers: { ...asked.headers, host: new URL(issuer).host } })),
          caller: bare.caller(),
          isStopped: bare.isStopped,
        },
      };
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

const originOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function holds({ if: condition }: Put, current: Artifact | undefined): boolean {
  if (condition === undefined) return true;
  if (condition === 'absent') return current === undefined;
  if (condition === 'unconsumed') return current !== undefined && current.consumedAt === undefined;
  return current?.version === condition.version;
}

const send = (agent: HttpAgent, origin: string, { method, path, headers, body }: TwinRequest): Promise<Omit<Outcome, 'writes'>> =>
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

/** An {@link Outcome} as two are compared. */
export interface Comparable {
  readonly status: number;
  readonly headers: unknown;
  readonly body: string;
  readonly writes: unknown;
}

/**
 * An outcome without what chance decides: ids that were not there before are told by their kind alone, and of JWTs the signature is left out, which
 * ES256 makes another each time.
 * @param isChance whether an id or key is new, and not made of what was there.
 */
export function withoutChance({ status, headers, body, writes }: Outcome, isChance: (id: string) => boolean): Comparable {
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
    // One commit is done as one, in whatever order.
    writes: writes.map(write).sort((a, b) => (inspect(a) < inspect(b) ? -1 : 1)),
  };
}
