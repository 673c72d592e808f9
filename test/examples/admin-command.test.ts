/** `dist/examples/production/admin.js`: the admin API from a shell, as an operator scripts it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { adminScopes } from '../../examples/production/seed.js';
import { administratorSecret, administratorSeed, tenantIdOf } from '../admin-client/administrator.js';
import { runExample } from '../support/service/example.js';
import { useIdp } from '../support/service/use-idp.js';

interface Document {
  readonly components: {
    readonly securitySchemes: { readonly accessToken: { readonly flows: { readonly clientCredentials: { readonly scopes: object } } } };
  };
}

const sent: unknown[] = [];
const service = useIdp({ seed: administratorSeed, mail: { send: async (message) => sent.push(message) } });
let tid: string;
beforeAll(async () => {
  tid = await tenantIdOf(service.idp, 'Acme');
});

async function admin(args: readonly string[], env: Record<string, string> = {}, input = '') {
  const settings = { ISSUER: service.issuer, ADMIN_CLIENT_ID: 'administrator', ADMIN_SECRET: administratorSecret, ...env };
  const { code, stdout, stderr } = await runExample('production/admin', settings, { args, input });
  const lines = stdout.split('\n').filter(Boolean);
  return { code, stderr, stdout, json: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe('what an operator scripts', () => {
  test('may do all that the admin API can', async () => {
    const document = (await (await fetch(`${service.issuer}/idp/api/v1/openapi.json`)).json()) as Document;
    expect(adminScopes.toSorted()).toEqual(Object.keys(document.components.securitySchemes.accessToken.flows.clientCredentials.scopes));
  });

  test('creates a person with a user, lists, links and unlinks', async () => {
    const globex = await tenantIdOf(service.idp, 'Globex');
    const create = (tenant: string) =>
      admin([
        'persons',
        'create',
        '--tenant',
        tenant,
        '--given-name',
        'Ola',
        '--family-name',
        'Nordmann',
        '--user-name',
        `ola@${tenant}.test`,
      ]);
    const [child, parent] = [await create(tid), await create(globex)].map(({ json }) => json()[0]?.user as { id: string });
    expect([child, parent]).toMatchObject([{ status: 'invited' }, { status: 'invited' }]);

    const listed = await admin(['persons', '--tenant', tid]);
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    expect(listed.json().map(({ givenName }) => givenName)).toEqual(expect.arrayContaining(['Alice', 'Carol', 'Ola']));

    const ends = ['--tenant', tid, '--user', `${child?.id}`, '--parent', `${parent?.id}`];
    expect((await admin(['link', ...ends])).json()).toMatchObject([{ id: child?.id, parentUserId: parent?.id, sub: parent?.id }]);
    expect((await admin(['link', ...ends])).code).toBe(0);
    expect((await admin(['link', ...ends.slice(0, 4), '--parent', `${child?.id}`])).code).toBe(1);
    expect((await admin(['unlink', ...ends])).json()).toMatchObject([{ id: child?.id, sub: child?.id }]);
  });

  test('invites a new person, in Norwegian and for an application', async () => {
    const names = ['--given-name', 'Nina', '--family-name', 'Ny', '--email', 'nina@acme.test', '--user-name', 'nina@acme.test'];
    const { code, json } = await admin([
      'persons',
      'create',
      '--tenant',
      tid,
      ...names,
      '--group',
      'Sales',
      '--invite',
      '--client',
      'web',
      '--locale',
      'nb',
    ]);
    expect(code).toBe(0);
    expect(json()).toMatchObject([{ user: { status: 'invited', groupIds: [expect.any(String)] }, invitation: { status: 'pending' } }]);
    while (sent.length === 0) await sleep(50);
    expect(sent).toMatchObject([{ to: 'nina@acme.test', kind: 'invitation', locale: 'nb', clientId: 'web' }]);
  });

  test('sets up a webhook, and reads the events to their end', async () => {
    const created = await admin([
      'webhooks',
      'create',
      '--tenant',
      tid,
      '--url',
      'http://127.0.0.1:9/hook',
      '--types',
      'UserCreated,UserRemoved',
    ]);
    expect(created.json()).toMatchObject([{ url: 'http://127.0.0.1:9/hook', types: ['UserCreated', 'UserRemoved'] }]);
    const listed = await admin(['webhooks', '--tenant', tid]);
    expect(listed.json().map(({ id }) => id)).toEqual([created.json()[0]?.id]);
    const { code, json } = await admin(['events', '--tenant', tid, '--type', 'WebhookCreated']);
    expect({ code, events: json() }).toMatchObject({ code: 0, events: [{ type: 'WebhookCreated', actor: 'client:administrator' }] });
  });

  test('sends any request of the API, with a body from standard input', async () => {
    const call = ['call', 'PATCH /tenants/{tid}', '--param', `tid=${tid}`, '--body'];
    expect((await admin([...call, '{"locale":"nb"}'])).json()).toMatchObject([{ id: tid, locale: 'nb' }]);
    expect((await admin([...call, '-'], {}, '{"locale":"da"}')).json()).toMatchObject([{ id: tid, locale: 'da' }]);
    const page = await admin(['call', 'GET /tenants', '--query', 'limit=1']);
    expect(page.json()).toEqual([{ items: [expect.objectContaining({ name: expect.any(String) })], next: expect.any(String) }]);
  });
});

describe('exit codes', () => {
  test('0, and the commands, with --help and with nothing', async () => {
    const [one, other] = await Promise.all([admin(['--help'], { ISSUER: '' }), admin([], { ISSUER: '' })]);
    expect(one).toMatchObject({ code: 0, stdout: expect.stringContaining('persons create --tenant … --given-name …') });
    expect(other.stdout).toBe(one.stdout);
  });

  test('1, and why, where the service refuses', async () => {
    const { code, stdout, stderr } = await admin(['users', 'disable', '--tenant', tid, '--user', 'nobody']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(JSON.parse(stderr)).toMatchObject({ status: 404, code: 'not_found', requestId: expect.any(String) });
    expect(await admin(['tenants'], { ADMIN_SECRET: 'wrong' })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('invalid_client'),
    });
  });

  test.each([
    ['an unknown command', ['nothing'], 'no command nothing'],
    ['a missing option', ['persons'], '--tenant'],
    ['an unknown option', ['tenants', '--nothing'], '--nothing'],
    ['an unknown route', ['call', 'GET /nothing'], 'no GET /nothing'],
    ['a body that is no JSON', ['call', 'POST /tenants', '--body', '{'], 'no JSON'],
  ])('2 for %s', async (_what, args, why) => {
    expect(await admin(args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(why) });
  });

  test('3 where nobody answers', async () => {
    expect(await admin(['tenants'], { ISSUER: 'http://127.0.0.1:9' })).toMatchObject({ code: 3, stdout: '' });
  });
});
