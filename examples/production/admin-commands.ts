/** Commands of `admin.ts`: each is one operation of the admin API, with its parameters as options. */
import type { Route } from 'tenant-idp/admin-client';

export type Values = Readonly<Record<string, string | boolean | undefined>>;

export interface Input {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Command {
  /** Name of the command, such as `persons create`. */
  readonly name: string;
  readonly summary: string;
  readonly route: Route;
  /** Names of options. A name with `!` is required, a name with `?` takes no value. */
  readonly options: readonly string[];
  input(values: Values): Input;
}

/** Returns the given options, under these names. */
const some = (values: Values, names: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(names).flatMap(([option, name]) => (values[option] === undefined ? [] : [[name, String(values[option])]])),
  );

const userOf = (values: Values) => ({ params: some(values, { tenant: 'tid', user: 'id' }) });

const onUser = (verb: 'disable' | 'enable' | 'sign-out', summary: string): Command => ({
  name: `users ${verb}`,
  summary,
  route: `POST /tenants/{tid}/users/{id}/${verb}`,
  options: ['tenant!', 'user!'],
  input: userOf,
});

const linked = (values: Values) => ({ params: some(values, { tenant: 'tid', user: 'id', parent: 'parentId' }) });

export const commands: readonly Command[] = [
  { name: 'tenants', summary: 'lists tenants', route: 'GET /tenants', options: [], input: () => ({}) },
  {
    name: 'tenants create',
    summary: 'creates a tenant',
    route: 'POST /tenants',
    options: ['name!', 'organisation-number'],
    input: (values) => ({ body: some(values, { name: 'name', 'organisation-number': 'organisationNumber' }) }),
  },
  {
    name: 'persons',
    summary: 'lists the persons of a tenant, with their users',
    route: 'GET /tenants/{tid}/persons',
    options: ['tenant!', 'email', 'name', 'external-id'],
    input: (values) => ({
      params: some(values, { tenant: 'tid' }),
      query: some(values, { email: 'email', name: 'name', 'external-id': 'externalId' }),
    }),
  },
  {
    name: 'persons create',
    summary: 'creates a person; with --user-name a user too, with --invite invites them',
    route: 'POST /tenants/{tid}/persons',
    options: [
      'tenant!',
      'given-name!',
      'family-name!',
      'email',
      'external-id',
      'user-name',
      'group',
      'invite?',
      'client',
      'link?',
      'locale',
    ],
    input: (values) => ({
      params: some(values, { tenant: 'tid' }),
      body: {
        ...some(values, { 'given-name': 'givenName', 'family-name': 'familyName', email: 'email', 'external-id': 'externalId' }),
        ...(values['user-name'] === undefined
          ? {}
          : {
              user: {
                ...some(values, { 'user-name': 'userName' }),
                ...(values.group === undefined ? {} : { groups: { names: String(values.group).split(',') } }),
              },
            }),
        ...(values.invite
          ? {
              invitation: { send: true, ...some(values, { client: 'clientId', locale: 'locale' }), ...(values.link ? { link: true } : {}) },
            }
          : {}),
      },
    }),
  },
  {
    name: 'persons remove',
    summary: 'erases a person',
    route: 'DELETE /tenants/{tid}/persons/{id}',
    options: ['tenant!', 'person!'],
    input: (values) => ({ params: some(values, { tenant: 'tid', person: 'id' }) }),
  },
  onUser('disable', 'ends the sign-ins of a user, and allows no other'),
  onUser('enable', 'allows a user to sign in again'),
  onUser('sign-out', 'ends the sign-ins of a user'),
  {
    name: 'link',
    summary: 'links a user to a parent, whose `sub` it takes',
    route: 'POST /tenants/{tid}/users/{id}/link/{parentId}',
    options: ['tenant!', 'user!', 'parent!'],
    input: linked,
  },
  {
    name: 'unlink',
    summary: 'ends a link',
    route: 'DELETE /tenants/{tid}/users/{id}/link/{parentId}',
    options: ['tenant!', 'user!', 'parent!'],
    input: linked,
  },
  {
    name: 'webhooks',
    summary: 'lists the webhooks of a tenant',
    route: 'GET /tenants/{tid}/webhooks',
    options: ['tenant!'],
    input: (values) => ({ params: some(values, { tenant: 'tid' }) }),
  },
  {
    name: 'webhooks create',
    summary: 'sends the events of a tenant to an address from now on; the answer has the secret, this once',
    route: 'POST /tenants/{tid}/webhooks',
    options: ['tenant!', 'url!', 'types'],
    input: (values) => ({
      params: some(values, { tenant: 'tid' }),
      body: { ...some(values, { url: 'url' }), ...(values.types === undefined ? {} : { types: String(values.types).split(',') }) },
    }),
  },
  {
    name: 'events',
    summary: 'lists the events of a tenant in their order, from a cursor on',
    route: 'GET /tenants/{tid}/events',
    options: ['tenant!', 'from', 'type'],
    input: (values) => ({ params: some(values, { tenant: 'tid' }), query: some(values, { from: 'after', type: 'type' }) }),
  },
];
