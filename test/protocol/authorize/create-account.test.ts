import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, obtainTokens, signIn } from '../../support/client/agent.js';
import { isSignInPage, membersOf } from '../../support/client/authorization-response.js';
import { isActive, redeem } from '../../support/client/steps.js';
import { expectQuietLog } from '../../support/service/leaks.js';
import { useIdp } from '../../support/service/use-idp.js';

let acme: string;
let globex: string;
const service = useIdp();
beforeAll(async () => {
  const { tenants } = service.idp.directory;
  for (const { id, name } of await tenants.find()) if (name === 'Acme') acme = id;
  for (const { id, name } of await tenants.find()) if (name === 'Globex') globex = id;
  await tenants.update(acme, { signIn: { selfRegistration: true } });
});

const pkce = createPkce();
const request = (parameters: Record<string, string | undefined> = {}) =>
  authorizeUrl(service.issuer, {
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    prompt: 'create',
    acr_values: `tenant:${acme}`,
    state: 's',
    ...parameters,
  });
const respond = async (agent: Agent, parameters: Record<string, string | undefined> = {}) =>
  agent.follow(await agent.get(request(parameters)));
const password = 'long enough for anybody';
const newcomer = (name: string) => ({ givenName: name, familyName: 'Newcomer', email: `${name}@acme.test`, password });
const submit = async (agent: Agent, page: Answer, fields: Record<string, string>) => agent.follow(await agent.submit(page, fields));
/** Returns the markup without the spans that keep words together. */
const wordsOf = ({ body }: Answer): string => body.replace(/<\/?span\b[^>]*>/g, '');
const claimsOf = async (answer: Answer) => {
  const { json } = await redeem(service.issuer, { client: 'web', code: membersOf(answer).code ?? '', verifier: pkce.verifier });
  return decodeJwt(json.id_token);
};

describe('4.2 prompt=create', () => {
  test('4.2 an account is created in the tenant, signed in, and signs in again', async () => {
    const agent = new Agent();
    const page = await respond(agent, { custom: '"><b>' });
    expect([page.status, Object.keys(formOf(page).fields)]).toEqual([200, ['csrf', 'givenName', 'familyName', 'email', 'password']]);
    const answer = await submit(agent, page, newcomer('dora'));
    expect(membersOf(answer)).toMatchObject({ code: expect.any(String), state: 's', custom: '"><b>' });
    const claims = await claimsOf(answer);
    expect(claims).toMatchObject({ tid: acme, amr: ['pwd'], idp: 'local' });
    expect(await claimsOf(await signIn(new Agent(), request({ prompt: undefined }), 'dora@acme.test', password))).toMatchObject({
      sub: claims.sub,
    });
  });

  test('design §7: what is created is a person with a user whose address is not verified', async () => {
    const agent = new Agent();
    await submit(agent, await respond(agent), newcomer('emil'));
    expect(await service.idp.tenant(acme).users.findByUserName('emil@acme.test')).toMatchObject({
      givenName: 'emil',
      familyName: 'Newcomer',
      email: 'emil@acme.test',
      user: { emailVerified: false, status: 'active', groupIds: [] },
    });
  });

  test.each<[string, () => Record<string, string | undefined>]>([
    ['no tenant is asked for', () => ({ acr_values: undefined })],
    ['the tenant does not let people', () => ({ acr_values: `tenant:${globex}` })],
    ['there is no such tenant', () => ({ acr_values: 'tenant:nonsense' })],
  ])('4.2 access_denied where %s', async (_, parameters) => {
    expect(membersOf(await respond(new Agent(), parameters()))).toMatchObject({ error: 'access_denied', state: 's', iss: service.issuer });
  });

  test('design §3: the one tenant of a client will do, and one that is not the client’s will not', async () => {
    const { clients } = service.idp.directory;
    const spa = { client_id: 'spa', acr_values: undefined };
    await clients.update('spa', { allowedTenants: [acme] });
    expect((await respond(new Agent(), spa)).status).toBe(200);
    await clients.update('spa', { allowedTenants: [globex] });
    expect(membersOf(await respond(new Agent(), { ...spa, acr_values: `tenant:${acme}` }))).toMatchObject({ error: 'access_denied' });
    await clients.update('spa', { allowedTenants: [acme, globex] });
    expect(membersOf(await respond(new Agent(), spa))).toMatchObject({ error: 'access_denied' });
  });

  test('4.2 who has an account signs in instead', async () => {
    const agent = new Agent();
    const page = await respond(agent);
    const link = /<a class="text-link centred" href="([^"]+)"/.exec(page.body)?.[1] ?? '';
    const identifier = await agent.get(link);
    expect(isSignInPage(identifier)).toBe(true);
    const second = await agent.submit(identifier, { identifier: 'alice@acme.test' });
    expect(membersOf(await submit(agent, second, { password: 'alice' }))).toHaveProperty('code');
  });

  test('design §3: while somebody is signed in it is another person’s sign-in: theirs ends', async () => {
    const { agent, tokens } = await obtainTokens(service.issuer);
    const page = await respond(agent);
    expect(await isActive(service.issuer, tokens.access_token)).toBe(true);
    expect(membersOf(await submit(agent, page, newcomer('fred')))).toHaveProperty('code');
    expect(await isActive(service.issuer, tokens.access_token)).toBe(false);
  });

  test('4.2 not with none; its page is nobody else’s, and no other sign-in creates anything', async () => {
    expect(membersOf(await respond(new Agent(), { prompt: 'none create' }))).toMatchObject({ error: 'invalid_request' });
    const [agent, other] = [new Agent(), new Agent()];
    const page = await respond(agent);
    const { action, fields } = formOf(page);
    expect((await other.post(action, { ...fields, ...newcomer('gina') })).status).toBe(403);
    expect((await agent.submit(page, { ...newcomer('gina'), csrf: 'x' })).status).toBe(403);
    const login = await respond(agent, { prompt: 'login' });
    const elsewhere = formOf(login).action.replace(/\/[^/]*$/, '/create');
    expect(isSignInPage(await agent.follow(await agent.post(elsewhere, { ...formOf(login).fields, ...newcomer('gina') })))).toBe(true);
    expect(await service.idp.tenant(acme).users.findByUserName('gina@acme.test')).toBeUndefined();
  });
});

describe('pages §3.1: the form', () => {
  test('neither name is required: the account has those that were typed', async () => {
    for (const names of [
      { givenName: 'Solo', familyName: ' ' },
      { givenName: '', familyName: 'Only' },
      { givenName: '', familyName: '' },
    ]) {
      const typed = { ...newcomer(`names-${names.givenName}${names.familyName.trim()}`.toLowerCase()), ...names };
      const agent = new Agent();
      const page = await respond(agent);
      expect(page.body).not.toMatch(/id="(?:givenName|familyName)"[^>]* required/);
      expect((await submit(agent, page, typed)).location).toContain('code=');
      const person = await service.idp.tenant(acme).users.findByUserName(typed.email);
      expect([person?.givenName, person?.familyName]).toEqual([names.givenName || undefined, names.familyName.trim() || undefined]);
    }
  });

  test.each([
    ['givenName', 'x'.repeat(201), 'Enter a given name of one line'],
    ['familyName', 'x'.repeat(201), 'Enter a surname of one line'],
    ['email', 'nobody', 'Enter an e-mail address.'],
    ['email', 'alice@acme.test', 'There is an account with this e-mail already.'],
    ['password', 'too short', 'Choose a password of at least 15 characters'],
    ['password', 'x'.repeat(129), 'Choose a password of at least 15 characters'],
  ])('pages §3.1: %s “%s” is said at the field, and all but the password stays', async (field, value, words) => {
    const agent = new Agent();
    const answer = await submit(agent, await respond(agent), { ...newcomer('hugo'), [field]: value });
    expect([answer.status, wordsOf(answer).includes(words)]).toEqual([400, true]);
    expect(answer.body).toMatch(
      new RegExp(`id="${field}"[^>]* aria-invalid="true" aria-describedby="(?:password-hint )?${field}-problem"`),
    );
    expect(formOf(answer).fields).toMatchObject({
      ...newcomer('hugo'),
      ...(field === 'password' ? {} : { [field]: value.trim() }),
      password: '',
    });
  });

  test('pages §3.1: all that is wrong is said at once, each at its field, and once above', async () => {
    const agent = new Agent();
    const fields = { givenName: 'x'.repeat(201), familyName: 'x'.repeat(201), email: 'alice@acme.test', password: 'too short' };
    const answer = await submit(agent, await respond(agent), fields);
    const words = [
      'Enter a given name of one line',
      'Enter a surname of one line',
      'There is an account with this e-mail already.',
      'Choose a password of',
    ];
    expect([answer.status, ...words.map((said) => wordsOf(answer).split(said).length - 1)]).toEqual([400, 2, 2, 2, 3]);
    expect([...answer.body.matchAll(/<li><a href="#(\w+)">/g)].map(([, name]) => name)).toEqual(Object.keys(fields));
    expect(answer.body.match(/aria-invalid="true"/g)).toHaveLength(4);
    expect(/id="(\w+)"[^>]* autofocus/.exec(answer.body)?.[1]).toBe('givenName');
    const less = await submit(agent, answer, { ...newcomer('kim'), email: '@' });
    expect(less.body.match(/aria-invalid="true"/g)).toHaveLength(1);
    expect(await service.idp.tenant(acme).users.findByUserName('kim@acme.test')).toBeUndefined();
  });

  test('security G7: what was typed stays text', async () => {
    const agent = new Agent();
    const hostile = '"><script>alert(1)</script>';
    const answer = await submit(agent, await respond(agent), { ...newcomer('ida'), givenName: hostile, password: '' });
    expect(answer.body).not.toContain('<script>alert');
    expect(formOf(answer).fields.givenName).toBe(hostile);
  });

  test('security G3: attempts are counted', async () => {
    const agent = new Agent();
    const page = await respond(agent);
    const tried = [];
    for (let attempt = 0; attempt < 11; attempt += 1)
      tried.push((await submit(agent, page, { ...newcomer('jo'), givenName: `Jo ${attempt}`, password: '' })).status);
    expect([tried.slice(0, 10), tried[10]]).toEqual([Array(10).fill(400), 429]);
  });
});

test('design §6: nothing here was an error of the service', () => expectQuietLog(service));
