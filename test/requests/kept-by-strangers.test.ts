/**
 * GR-SAMLBIG, GR-CALLBACK, M15: data that strangers can make the stores keep. Each route gets the largest requests that it accepts, from a
 * stranger and from a browser with a sign-in in progress. With `PROVE`, each text is sent in each place of each route, at several lengths.
 */
import { deflateRawSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { saml } from 'tenant-idp/extensions/saml';
import { Agent, authorizeUrl, basic, createPkce, formOf, obtainTokens, postForm } from '../support/client/agent.js';
import { rawRequest } from '../support/client/raw-request.js';
import { createSigningClient, type SigningClient } from '../support/client/request-objects.js';
import { forgetRoutes, recordedRoutes } from '../support/requests/recorded-routes.js';
import { protocolParameters } from '../support/requests/work/names-read.js';
import { mostIn, places, requestWith, type SignInUnderWay, type Target } from '../support/requests/work/text-places.js';
import { authnRequest } from '../support/saml/inbound/sent-messages.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { type Kept, measuredStores } from '../support/stores/measured-stores.js';

const isWhole = process.env.PROVE !== undefined;

/** Bytes that the service adds to the names and values of a request: ids, times, names of prompts. */
const OWN = 1_792;
const LONGER = 8_192 + OWN;
const MINUTE = 16_384 + OWN;
const MINUTE_MS = 61_000;

const wiki = 'https://wiki.test/saml';
const stores = measuredStores();
let signing: SigningClient;
beforeAll(forgetRoutes);
const service = useIdp(async () => {
  signing = await createSigningClient('signing');
  const connection = { id: 'up', name: 'Up', issuer: 'https://up.test', clientId: 'here', clientSecret: 'of the provider' };
  return {
    artifacts: stores.artifacts,
    directory: stores.directory,
    extensions: [saml()],
    mail: { send: async () => {} },
    impersonation: { permission: 'orders.approve' },
    keys: { encryption: ['what the keys are encrypted with in this test'] },
    limits: { signInFailures: 100, signInFailuresPerAddress: 100_000, adminRequestsPerMinute: 1_000_000 },
    seed: {
      ...testSeed,
      clients: [...testSeed.clients, signing.record],
      extensions: {
        connections: [connection],
        saml: {
          serviceProviders: [
            { id: 'wiki', entityId: wiki, assertionConsumerServices: [{ url: `${wiki}/acs` }], requireSignedRequests: false },
          ],
        },
      },
    } as never,
  };
});

/** Returns the sums of a request: bytes that are kept for longer than a minute, and bytes that are kept for a minute at most. */
function sums(kept: readonly Kept[]) {
  const sum = (isLong: boolean) => kept.reduce((all, { bytes, forMs }) => all + (forMs > MINUTE_MS === isLong ? bytes : 0), 0);
  return { longer: sum(true), minute: sum(false) };
}
/** Whether the store keeps the form of a request for a minute: the callback of an existing connection, and the sign-out. */
const isForm = ({ method, path }: Target): boolean => method === 'POST' && /\/connections\/up\/callback$|\/endsession$/.test(path);

/** Returns undefined for a request within the bounds, and otherwise a description of the excess. */
function excess(target: Target, what: string, kept: readonly Kept[]): string | undefined {
  const { longer, minute } = sums(kept);
  if (longer <= LONGER && minute <= (isForm(target) ? MINUTE : LONGER)) return undefined;
  return `${target.method} ${target.path}, ${what}: ${JSON.stringify(kept)}`;
}

async function begin(): Promise<SignInUnderWay> {
  const agent = new Agent();
  const { challenge } = createPkce();
  const page = await agent.follow(
    await agent.get(authorizeUrl(service.issuer, { code_challenge: challenge, code_challenge_method: 'S256' })),
  );
  return {
    cookies: [...agent.cookies].map(([key, { value }]) => `${key.split(' ')[0]}=${value}`).join('; '),
    csrf: formOf(page).fields.csrf ?? '',
    uid: new URL(page.url).pathname.split('/').pop() ?? '',
  };
}
const stranger: SignInUnderWay = { cookies: 'none=1', csrf: 'none', uid: 'A'.repeat(21) };

/** Characters that JSON writes unchanged, in two bytes and in six, and a letter of two bytes. */
const texts: Readonly<Record<string, string>> = {
  letters: 'a',
  'control characters': '\u0001',
  ...(isWhole && { quotes: '"', 'letters of two bytes': 'å' }),
};

function allTargets(): readonly Target[] {
  return recordedRoutes().flatMap(({ path, methods }) =>
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
      .filter((method) => methods.includes(method) || (method === 'POST' && path.startsWith('/connect/')))
      .flatMap((method) => [{ method, path }, ...(path.includes('/connections/:id') ? [{ method, path: path.replace(':id', 'up') }] : [])]),
  );
}

describe('each place of each route', () => {
  test('M15: no text in any place makes the stores keep more', async () => {
    const targets = allTargets();
    expect(targets).toEqual(
      expect.arrayContaining([
        { method: 'POST', path: '/connect/par' },
        { method: 'POST', path: '/idp/interaction/:uid/password' },
        { method: 'POST', path: '/idp/connections/up/callback' },
        { method: 'GET', path: '/idp/saml/sso' },
      ]),
    );
    const parts = isWhole ? [1, 1.5, 3, 6, 12, 24, 48] : [1, 6];
    const cases = targets.flatMap((target) =>
      places
        .filter(({ isFor }) => isFor(target))
        .flatMap((place) => Object.entries(texts).flatMap(([kind, piece]) => parts.map((part) => ({ target, place, kind, piece, part })))),
    );
    const tried = isWhole ? cases : cases.filter((_, index) => index % 41 === 0);
    const found: string[] = [];
    let here = stranger;
    for (const [at, { target, place, kind, piece, part }] of tried.entries()) {
      if (at % 200 === 0) here = await begin();
      const who = at % 2 === 0 ? here : stranger;
      const textOf = (length: number) => piece.repeat(length);
      const { lines, body } = requestWith(place, target, textOf(Math.floor(mostIn(place, target, textOf, who) / part)), who);
      const kept = await stores.during(() => rawRequest(service.issuer, lines, body).catch(() => {}));
      found.push(...[excess(target, `${kind} in ${place.name}`, kept)].filter((each) => each !== undefined));
    }
    expect(found).toEqual([]);
  });
});

/** Request that is defined by its parameters. */
interface Opening {
  readonly target: Target;
  readonly base: Readonly<Record<string, string>>;
  readonly names: readonly string[];
  /** Bytes that the largest request keeps at least: a smaller sum means that nothing was measured. */
  readonly atLeast: number;
  /** Returns the parameters that are sent. @default all */
  readonly sent?: (parameters: Readonly<Record<string, string>>) => Promise<Readonly<Record<string, string>>>;
}

const formType = 'Content-Type: application/x-www-form-urlencoded';

async function keptBy({ target, sent }: Opening, parameters: Readonly<Record<string, string>>, header = 'Accept: */*') {
  const form = new URLSearchParams((sent ? await sent(parameters) : parameters) as Record<string, string>).toString();
  const isGet = target.method === 'GET';
  const lines = [`${target.method} ${target.path}${isGet ? `?${form}` : ''} HTTP/1.1`, 'Host: x', header, ...(isGet ? [] : [formType])];
  return stores.during(() => rawRequest(service.issuer, lines, isGet ? '' : form).catch(() => {}));
}

/** Adds one parameter after another, with the longest text that makes the stores keep more. @returns the largest sum. */
async function largest(opening: Opening, piece: string): Promise<number> {
  const total = (kept: readonly Kept[]): number => sums(kept).longer + sums(kept).minute;
  let parameters = opening.base;
  let most = total(await keptBy(opening, parameters));
  for (const name of opening.names)
    for (const length of isWhole ? [16_000, 8_100, 4_096, 2_048, 1_024, 512, 100] : [8_100, 4_090, 1_020]) {
      const text = piece.repeat(length / Buffer.byteLength(piece));
      const next = { ...parameters, [name]: `${opening.base[name] ?? ''}${text}` };
      const kept = await keptBy(opening, next);
      expect(excess(opening.target, `${name} of ${length} bytes of ${JSON.stringify(piece)}`, kept)).toBeUndefined();
      if (total(kept) <= most) continue;
      most = total(kept);
      parameters = next;
      break;
    }
  return most;
}

describe('the largest requests that are accepted', () => {
  const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  const asked = (client: string) => ({
    client_id: client,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid',
    ...challenge,
  });
  const names = [...protocolParameters, 'eid_user_visible_data', 'sso_token', 'cart'].filter(
    (name) =>
      ![
        'client_id',
        'response_type',
        'redirect_uri',
        'request',
        'request_uri',
        'code_challenge',
        'code_challenge_method',
        'scope',
      ].includes(name),
  );
  const authorize = '/connect/authorize';
  const signed = async (parameters: Readonly<Record<string, string>>) => ({
    client_id: 'signing',
    request: await signing.sign(service.issuer, { ...parameters, jti: 'j'.repeat(1000) }),
  });
  const openings: Readonly<Record<string, Opening>> = {
    'a URL': { target: { method: 'GET', path: authorize }, base: asked('web'), names, atLeast: 7_000 },
    'a form': { target: { method: 'POST', path: authorize }, base: asked('web'), names, atLeast: 7_000 },
    'a request object': { target: { method: 'GET', path: authorize }, base: asked('signing'), names, atLeast: 7_000, sent: signed },
    'a pushed request': { target: { method: 'POST', path: '/connect/par' }, base: asked('spa'), names, atLeast: 7_000 },
    'a form of a connection': {
      target: { method: 'POST', path: '/idp/connections/up/callback' },
      base: { state: 'x' },
      names: ['state', 'code', 'iss', 'error', 'other'],
      atLeast: 8_000,
    },
    'a form to sign out': {
      target: { method: 'POST', path: '/connect/endsession' },
      base: { client_id: 'web' },
      names: ['state', 'id_token_hint', 'logout_hint', 'other'],
      atLeast: 8_000,
    },
  };
  test.each(
    Object.entries(openings).flatMap(([name, opening]) => Object.entries(texts).map(([kind, piece]) => ({ name, kind, opening, piece }))),
  )('M15: $name, of $kind', async ({ opening, piece }) => {
    expect(await largest(opening, piece)).toBeGreaterThan(piece === 'a' ? opening.atLeast : 2_000);
  });

  test('a pushed request object keeps its parameters, and not its text', async () => {
    const opening: Opening = { target: { method: 'POST', path: '/connect/par' }, base: {}, names: [], atLeast: 0, sent: signed };
    const header = `Authorization: Basic ${Buffer.from('signing:signing-secret').toString('base64')}`;
    const parameters = { ...asked('signing'), state: 's'.repeat(4000) };
    const kept = await keptBy(opening, parameters, header);
    expect(kept.map(({ kind }) => kind)).toEqual(['PushedAuthorizationRequest']);
    expect(kept[0]?.bytes).toBeLessThan(4000 + 1000);
    const jti = {
      sent: async (all: Readonly<Record<string, string>>) => ({
        client_id: 'signing',
        request: await signing.sign(service.issuer, { ...all, jti: 'j'.repeat(30_000) }),
      }),
    };
    const same = await keptBy({ ...opening, ...jti }, parameters, header);
    expect(same[0]?.bytes).toBe(kept[0]?.bytes);
  });

  test('a pushed request that was used keeps no parameters, and works once', async () => {
    const agent = new Agent();
    await obtainTokens(service.issuer, { agent });
    const form = { ...asked('web'), state: 's'.repeat(4000) };
    const { json } = await postForm(`${service.issuer}/connect/par`, form, { authorization: basic('web', 'web-secret') });
    const url = `${service.issuer}${authorize}?${new URLSearchParams({ client_id: 'web', request_uri: json.request_uri })}`;
    let first = '';
    const kept = await stores.during(async () => {
      first = (await agent.get(url)).location ?? '';
    });
    expect(new URL(first).searchParams.get('state')).toBe(form.state);
    const spent = kept.filter(({ kind, forMs }) => kind === 'PushedAuthorizationRequest' && forMs > MINUTE_MS);
    expect(spent).toHaveLength(1);
    expect(spent[0]?.bytes).toBeLessThan(200);
    expect((await agent.get(url)).status).toBe(400);
  });

  test('T3: an authorization request by URL of 8 KiB is taken; one past it is refused at the application', async () => {
    const url = (length: number) =>
      `${service.issuer}${authorize}?${new URLSearchParams({ ...asked('web'), state: 'mine', eid_user_visible_data: 'x'.repeat(length) })}`;
    expect((await new Agent().get(url(7_600))).status).toBe(303);
    const refused = new URL((await new Agent().get(url(8_192))).location ?? '');
    expect(refused.origin + refused.pathname).toBe(redirectUri);
    expect(Object.fromEntries(refused.searchParams)).toMatchObject({
      error: 'invalid_request',
      error_description: 'The parameters of the request are too long. Send at most 8 KiB in all.',
      state: 'mine',
    });
  });
});

describe('SAML', () => {
  const classes = 'urn:oasis:names:tc:SAML:2.0:ac:classes:';
  const contextOf = (all: readonly string[]) =>
    `<samlp:RequestedAuthnContext>${all.map((each) => `<saml:AuthnContextClassRef>${each}</saml:AuthnContextClassRef>`).join('')}</samlp:RequestedAuthnContext>`;
  const long = (piece: string, index = 0) => `${piece.repeat(1000)}${index}`;
  const subjectOf = (piece: string) =>
    `<saml:Subject><saml:NameID Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress" NameQualifier="${long(piece)}" SPNameQualifier="${long(piece)}">${long(piece)}</saml:NameID></saml:Subject>`;
  const unknown = Array.from({ length: 19 }, (_, index) => long('x', index));
  const bodies = {
    'unknown classes': contextOf([`${classes}Password`, ...unknown]),
    'the same class again': contextOf(Array.from({ length: 20 }, () => `${classes}PasswordProtectedTransport`)),
    'a subject': subjectOf('x') + contextOf([`${classes}Password`, ...unknown]),
  };
  const sent = async (body: string, relayState: string) => {
    const message = deflateRawSync(authnRequest({ issuer: wiki, body })).toString('base64');
    const query = new URLSearchParams({ SAMLRequest: message, RelayState: relayState });
    return stores.during(async () => {
      answer = await rawRequest(service.issuer, [`GET /idp/saml/sso?${query} HTTP/1.1`, 'Host: x']);
    });
  };
  let answer: { readonly head: string; readonly body: string } = { head: '', body: '' };

  test.each(Object.entries(bodies))('GR-SAMLBIG: a request with %s keeps what was understood, for an hour', async (_name, body) => {
    const kept = await sent(body, 'r'.repeat(2048));
    const { longer, minute } = sums(kept);
    expect(longer).toBeGreaterThan(2_048);
    expect(longer).toBeLessThan(body.includes('Subject') ? 6_144 : 3_072);
    expect(minute).toBeLessThan(4_096);
  });

  test('GR-SAMLBIG: a request with more to remember is refused, and nothing is kept', async () => {
    const kept = await sent(subjectOf('&quot;'), '"'.repeat(1024));
    expect(kept.map(({ kind }) => kind)).not.toContain('saml.requests');
    expect(answer.body).toContain('too_much_to_keep');
  });

  test('RelayState of more than 2,048 bytes is refused, and never cut', async () => {
    expect(sums(await sent('', 'r'.repeat(2049)))).toEqual({ longer: 0, minute: 0 });
    expect(answer.body).toContain('relay_state_too_long');
  });
});

test('GR-CALLBACK: a form for a connection that does not exist is not kept', async () => {
  const post = (id: string) =>
    stores.during(() =>
      rawRequest(
        service.issuer,
        [`POST /idp/connections/${id}/callback HTTP/1.1`, 'Host: x', formType],
        `state=x&code=${'c'.repeat(15_000)}`,
      ),
    );
  expect(await post('nobody')).toEqual([]);
  expect((await post('up')).map(({ kind }) => kind)).toEqual(['PostedForm']);
});
