/** A service on stores that fail once, and the POSTs of its admin API, each with the records that it needs. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { saml } from 'tenant-idp/extensions/saml';
import { type AdminAnswer, type AdminClient, documented, tenantIds } from '../../support/administration/admin.js';
import { keepImpersonations } from '../../support/administration/impersonations.js';
import { captureMail } from '../../support/administration/invitations.js';
import { type MakeWrite, pathOf, type Write, writesOf } from '../../support/administration/writes.js';
import type { Json } from '../../support/client/agent.js';
import { useDocumentHost } from '../../support/client/receivers/document-host.js';
import { callLoopback } from '../../support/client/receivers/logout-receiver.js';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/client/receivers/webhook-receiver.js';
import { asAdministrator, samlAdminSeed } from '../../support/saml/service/administration.js';
import { given } from '../../support/saml/service-providers/given.js';
import { useIdp } from '../../support/service/use-idp.js';
import { until } from '../../support/time/until.js';
import { type Failure, type GivenStores, storesThatFailOnce } from './stores-that-fail-once.js';

export interface Post extends Write {
  /** Address of the mail that the request sends. */
  readonly to?: string;
  /** Id of the dead letter that the request sends again. */
  readonly letter?: string;
}
type MakePost = () => Promise<Post> | Post;

export interface Sent {
  readonly answer: AdminAnswer;
  /** The calls of the stores that the request made. */
  readonly calls: readonly string[];
  /** Makes the store do the late call. */
  release(): void;
}

export interface Request {
  readonly post: Post;
  readonly url: string;
  /** Returns the headers of the request, except the token, with a plan of the call at which a store fails. */
  headers(at?: Failure): Readonly<Record<string, string>>;
  /** Sends the request, each time with the same key. @param at call at which a store fails */
  send(at?: Failure): Promise<Sent>;
}

/** Variants of a POST have a word in parentheses: `POST /clients (twice)`. */
const operationOf = (name: string): string => name.replace(/ \(.*\)$/, '');

let count = 0;
const unique = (): string => {
  count += 1;
  return `retried-${count}`;
};

/** Starts the service for the tests of a file, and returns the POSTs. */
export function useRetriedPosts(underneath?: GivenStores) {
  const stores = storesThatFailOnce(underneath);
  const impersonations = keepImpersonations();
  const mail = captureMail();
  const host = useDocumentHost();
  let receiver: WebhookReceiver | undefined;
  const service = useIdp(() => ({
    artifacts: stores.artifacts,
    directory: stores.directory,
    outgoing: callLoopback,
    host: (idp) => stores.host(idp.callback()),
    seed: samlAdminSeed,
    mail: mail.mail,
    keys: { encryption: ['what the service of the attempts encrypts with'] },
    limits: { adminRequestsPerMinute: 100_000 },
    extensions: [saml(), impersonations.extension],
  }));
  const known: { root?: AdminClient; posts: ReadonlyMap<string, MakePost> } = { posts: new Map() };
  const root = () => known.root as AdminClient;
  beforeAll(async () => {
    receiver = await startWebhookReceiver();
    host.answerBy((request, response) => {
      const entityId = host.url + request.url;
      const acs = `<AssertionConsumerService index="0" Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="https://sp.example/acs"/>`;
      const role = `<SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">${acs}</SPSSODescriptor>`;
      response.end(`<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}">${role}</EntityDescriptor>`);
    });
    known.root = await asAdministrator(service.issuer, 'root');
    const { Acme = '', Globex = '' } = await tenantIds(root());
    const written = writesOf({ service, root: root(), tid: Acme, globex: Globex, impersonations });
    const posts = [...written].filter(([operation]) => operation.startsWith('POST')) as [string, MakeWrite][];
    known.posts = new Map<string, MakePost>([
      ...posts,
      ...ofInvitations(Acme),
      ...withIds(Acme),
      ...ofMeans(Acme),
      ...ofSaml(Acme),
      ...ofWebhooks(),
    ]);
  });
  afterAll(() => receiver?.close());

  const made = async (path: string, body?: object): Promise<Json> => {
    const { status, json, text } = await root().post(path, body);
    if (status >= 300) throw new Error(`${path}: ${text}`);
    return json;
  };
  const invited = async (tid: string, send: boolean) => {
    const email = `${unique()}@acme.test`;
    const person = { givenName: 'A', familyName: 'B', email, user: { userName: email }, ...(send && { invitation: { send } }) };
    const { user, invitation } = await made(`/tenants/${tid}/persons`, person);
    if (send) await until(() => mail.mails.some(({ to }) => to === email));
    return { email, userId: user.id as string, id: invitation?.id as string };
  };

  function ofInvitations(tid: string): readonly [string, MakePost][] {
    return [
      [
        'POST /tenants/{tid}/invitations (sent)',
        async () => {
          const { email, userId } = await invited(tid, false);
          return { body: { userId, send: true }, to: email };
        },
      ],
      [
        'POST /tenants/{tid}/persons (invited)',
        () => {
          const email = `${unique()}@acme.test`;
          return { body: { givenName: 'A', familyName: 'B', email, user: { userName: email }, invitation: { send: true } }, to: email };
        },
      ],
      [
        'POST /tenants/{tid}/invitations/{id}/resend',
        async () => {
          const { email, id } = await invited(tid, true);
          return { params: { id }, to: email };
        },
      ],
      [
        'POST /tenants/{tid}/users/{id}/password-reset',
        async () => {
          const email = `${unique()}@acme.test`;
          const input = { givenName: 'A', familyName: 'B', email, user: { userName: email, status: 'active' as const } };
          const { user } = await service.idp.tenant(tid).persons.create(input);
          return { params: { id: user?.id ?? '' }, to: email };
        },
      ],
    ];
  }

  /** Returns creations whose caller chooses the id. */
  function withIds(tid: string): readonly [string, MakePost][] {
    const named = { givenName: 'A', familyName: 'B' };
    const connection = { name: 'Provider', issuer: 'https://login.example.com', clientId: 'us', clientSecret: 'theirs' };
    return [
      ['POST /tenants (with an id)', () => ({ body: { id: randomUUID(), name: unique() } })],
      ['POST /tenants/{tid}/groups (with an id)', () => ({ body: { id: randomUUID(), name: unique() } })],
      [
        'POST /tenants/{tid}/persons (with ids)',
        () => ({ body: { id: randomUUID(), ...named, user: { id: randomUUID(), userName: unique() } } }),
      ],
      [
        'POST /tenants/{tid}/persons/{id}/user (with an id)',
        async () => ({
          params: { id: (await made(`/tenants/${tid}/persons`, named)).id },
          body: { id: randomUUID(), userName: unique() },
        }),
      ],
      ['POST /tenants/{tid}/connections (with an id)', () => ({ body: { id: unique(), ...connection, domains: [`${unique()}.test`] } })],
      [
        'POST /clients (that hints)',
        () => ({
          body: { id: unique(), name: 'H', metadata: { redirect_uris: ['https://app.example/cb'] }, trustedLoginHint: true },
        }),
      ],
    ];
  }

  /**
   * Returns the confirmation of a user's means: an identity that an administrator without the user's permissions wrote, and root listed.
   */
  function ofMeans(tid: string): readonly [string, MakePost][] {
    return [
      [
        'POST /tenants/{tid}/users/{id}/means/confirm',
        async () => {
          const { userId } = await invited(tid, false);
          const { id: groupId } = await made(`/tenants/${tid}/groups`, { name: unique(), permissionIds: ['idp.persons:write'] });
          await made(`/tenants/${tid}/users/${userId}/groups`, { ids: [groupId] });
          const persons = stores.rows.collection('persons');
          const [row] = await persons.find({ byUser: [userId] });
          const vouchedBy = { by: 'tenant', tids: [tid], permissionIds: [] };
          const user = { ...(row as unknown as { user: object }).user, externalIdentities: [{ idp: 'up', subject: unique(), vouchedBy }] };
          await persons.put({ ...row, user } as never);
          const { json } = await root()(`/tenants/${tid}/users/${userId}/means`);
          if (json.items.length === 0) throw new Error('there are no means to confirm');
          return { params: { id: userId } };
        },
      ],
    ];
  }

  function ofSaml(tid: string): readonly [string, MakePost][] {
    const keys = '/saml-signing-keys';
    /** Removes all keys except the active one. */
    const clear = async () => {
      for (const { id, state } of (await root()(keys)).json.items) if (state !== 'active') await root().remove(`${keys}/${id}`);
    };
    const refreshed = (path: string) => async (): Promise<Post> => ({
      params: { id: (await made(path, { metadataUrl: `${host.url}/${unique()}` })).id },
    });
    return [
      ['POST /saml-service-providers', () => ({ body: given() })],
      ['POST /tenants/{tid}/saml-service-providers', () => ({ body: given() })],
      ['POST /saml-service-providers (from metadata)', () => ({ body: { metadataUrl: `${host.url}/${unique()}` } })],
      ['POST /saml-service-providers/{id}/refresh', refreshed('/saml-service-providers')],
      ['POST /tenants/{tid}/saml-service-providers/{id}/refresh', refreshed(`/tenants/${tid}/saml-service-providers`)],
      [
        'POST /saml-signing-keys',
        async () => {
          await clear();
          return { body: {} };
        },
      ],
      [
        'POST /saml-signing-keys/{id}/activate',
        async () => {
          await clear();
          return { params: { id: (await made(keys, {})).id }, body: { now: true } };
        },
      ],
    ];
  }

  /** Returns the POSTs of webhooks. Each has its own tenant, because a tenant has at most 20. */
  function ofWebhooks(): readonly [string, MakePost][] {
    const place = async (
      path: string,
    ): Promise<{ readonly at: string; readonly owner: string; readonly params: Readonly<Record<string, string>> }> => {
      if (path === '/webhooks') return { at: path, owner: '*', params: {} };
      const { id } = await made('/tenants', { name: unique() });
      return { at: path.replace('{tid}', id), owner: id, params: { tid: id } };
    };
    const hooked = async (path: string) => {
      const { at, owner, params } = await place(path);
      const { id } = await made(at, { url: receiver?.url, types: ['KeyRotated'] });
      return { owner, params: { ...params, id: id as string } };
    };
    const failed = async (path: string, body: (letter: string) => object): Promise<Post> => {
      const { owner, params } = await hooked(path);
      const letter = randomUUID();
      const time = new Date().toISOString();
      const event = { specversion: '1.0', id: letter, source: service.issuer, type: 'UserSignedOut', time, data: {} };
      const members = { webhookId: params.id, event, attempts: 1, problem: 'lost', at: time };
      await stores.rows.collection('events.dead-letters').insert({ id: letter, tid: owner, ...members } as never);
      return { params, letter, body: body(letter) };
    };
    return ['/webhooks', '/tenants/{tid}/webhooks'].flatMap((path): readonly [string, MakePost][] => [
      [`POST ${path}`, async () => ({ params: (await place(path)).params, body: { url: receiver?.url } })],
      [`POST ${path}/{id}/rotate-secret`, () => hooked(path)],
      [`POST ${path}/{id}/test`, () => hooked(path)],
      [`POST ${path}/{id}/replay`, () => failed(path, (letter) => ({ deliveries: [letter] }))],
      [`POST ${path}/{id}/replay (all)`, () => failed(path, () => ({}))],
    ]);
  }

  return {
    service,
    stores,
    mail,
    receiver: () => receiver as WebhookReceiver,
    /** Returns all POSTs of the document. */
    async posts(): Promise<readonly string[]> {
      const { operations } = await documented(service.issuer);
      return operations.filter(({ method }) => method === 'POST').map(({ path }) => `POST ${path}`);
    },
    names: () => [...known.posts.keys()],
    /** Returns one request, with its own key. */
    async request(name: string): Promise<Request> {
      const key = unique();
      const post = await (known.posts.get(name) as MakePost)();
      return {
        post,
        url: `${service.issuer}/idp/api/v1${pathOf(operationOf(name), post)}`,
        headers: (at) => ({ ...stores.plan(at).headers, 'idempotency-key': key }),
        async send(at) {
          const { plan, headers } = stores.plan(at);
          const answer = await root().post(pathOf(operationOf(name), post), post.body, { ...headers, 'idempotency-key': key });
          if (at?.way === 'from') setTimeout(() => Object.assign(plan, { isOver: true }), 100);
          return { answer, calls: plan.calls, release: plan.release };
        },
      };
    },
  };
}

export const operationsOf = (names: readonly string[]): ReadonlySet<string> => new Set(names.map(operationOf));

/** Whether a call writes. */
export const isWrite = (call: string): boolean => /\.(commit|insert|put|update|remove)$/.test(call);
