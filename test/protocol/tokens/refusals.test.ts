/** Refusals: both doors answer and log a refusal in the same way, and one run of one handler finds the refusal. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { defineErrors, type Extension } from 'tenant-idp/extension';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import { recordedEvents } from '../../support/administration/recorded-events.js';
import { Agent, type Json } from '../../support/client/agent.js';
import { CIBA_GRANT, callsTo, cibaClient, withClients } from '../../support/client/ciba/call-centre.js';
import { credentialsOf } from '../../support/client/endpoints.js';
import { type CodeInHand, isActive, obtainCode, redeem, refresh } from '../../support/client/steps.js';
import { answerOf, formTypes, plainType, unusualType } from '../../support/requests/both-doors.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { atOnce } from '../../support/time/rounds.js';

const gateErrors = defineErrors({
  gate_locked: { status: 401, description: 'The gate asks for "another" key.' },
  gate_shut: { status: 403, description: 'The gate is shut.' },
  gate_full: { status: 429, description: 'The gate is full.' },
  gate_away: { status: 503, description: 'The gate did not answer.' },
});
const gateGrant = 'urn:example:gate';
let exchanged = 0;
/** A grant type that refuses by the error that its parameter names. */
const gate: Extension = {
  name: 'gate',
  errorCodes: gateErrors.codes,
  grantTypes: {
    [gateGrant]: () => ({
      parameters: ['error'],
      exchange({ parameters: { error = '' } }) {
        exchanged += 1;
        if (error in gateErrors.codes) throw gateErrors(error as keyof typeof gateErrors.codes, { retryAfterSeconds: 7 });
        return { error, description: `the gate says ${error}` };
      },
    }),
  },
};
const gateClient = {
  id: 'keeper',
  name: 'Keeper',
  secret: 'keeper-secret',
  metadata: { grant_types: [gateGrant] },
  allowedScopes: ['openid'],
};

/** Kinds of the artifacts that were read, and of the counters that were increased. */
const asked = { reads: [] as string[], hits: [] as string[] };
const kindOf = (key: string): string => key.slice(0, key.indexOf('{'));
const memory = memoryArtifacts();
const directory = memoryDirectory();
const artifacts: ArtifactStore = {
  ...memory,
  read(wanted) {
    asked.reads.push(...wanted.map(({ key }) => kindOf(key)));
    return memory.read(wanted);
  },
  hit(counter, window, by) {
    asked.hits.push(kindOf(counter));
    return memory.hit(counter, window, by);
  },
};
const service = useIdp({
  artifacts,
  directory,
  lifetimes: { refreshTokenIdle: 3600 },
  extensions: [gate],
  seed: withClients(cibaClient('desk'), gateClient),
});
const alice = 'alice@acme.test';
/** Seconds between two tests: longer than earlier requests count, and longer than their records are stored. */
const APART_SECONDS = 100_000;
let tests = 0;
const later = (seconds: number): void => passTime(tests * APART_SECONDS + seconds);
beforeEach(() => {
  tests += 1;
  later(0);
});
afterEach(backToPresent);

/** A request that is refused. */
interface Refused {
  readonly fields: Readonly<Record<string, string>>;
  readonly client?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const offline = { scope: 'openid profile offline_access' };
const codeFor = (client = 'web'): Promise<CodeInHand> => obtainCode(service.issuer, new Agent(), client, offline);
const codeFields = ({ code, verifier }: CodeInHand) => ({
  grant_type: 'authorization_code',
  code,
  code_verifier: verifier,
  redirect_uri: redirectUri,
});
const tokensFor = async (client = 'web'): Promise<Json> => (await redeem(service.issuer, await codeFor(client))).json;
const refreshFields = (token: string) => ({ grant_type: 'refresh_token', refresh_token: token });
const usersOf = async (userName: string) => {
  const [account] = await service.idp.directory.accounts.candidates(userName);
  return { users: service.idp.tenant(String(account?.tenant.id)).users, id: String(account?.person.user.id) };
};
async function whileDisabled<T>(ask: () => Promise<T>): Promise<T> {
  const { users, id } = await usersOf(alice);
  await users.disable(id);
  try {
    return await ask();
  } finally {
    await users.enable(id);
  }
}

const ask = ({ fields, client = 'web', path = '/connect/token', headers }: Refused, type: string) =>
  answerOf(service.issuer + path, {
    method: 'POST',
    headers: { ...credentialsOf(client), 'content-type': type, ...headers },
    body: new URLSearchParams(fields).toString(),
  });

/** Returns the answer and the log lines of a request, without the ids of requests. */
async function outcomeOf(request: Refused, type: string): Promise<{ answer: unknown; lines: unknown }> {
  service.lines.length = 0;
  const answer = await ask(request, type);
  const lines = service.lines.map(({ level, message, fields: { requestId: _, ...fields } }) => ({ level, message, fields }));
  return { answer, lines: lines.filter(({ message }) => message.startsWith('request ')) };
}

const table: readonly (readonly [what: string, error: string, make: () => Promise<Refused> | Refused])[] = [
  ['an unknown code', 'invalid_grant', () => ({ fields: { grant_type: 'authorization_code', code: 'unknown', redirect_uri: redirectUri } })],
  ['a code without redirect_uri', 'invalid_request', async () => ({ fields: { grant_type: 'authorization_code', code: (await codeFor()).code } })],
  ['a code of another client', 'invalid_grant', async () => ({ fields: codeFields(await codeFor()), client: 'jwt' })],
  ['a code with another verifier', 'invalid_grant', async () => ({ fields: { ...codeFields(await codeFor()), code_verifier: 'v'.repeat(43) } })],
  ['a code with a short verifier', 'invalid_request', async () => ({ fields: { ...codeFields(await codeFor()), code_verifier: 'v' } })],
  ['a code without a verifier', 'invalid_grant', async () => ({ fields: { ...codeFields(await codeFor()), code_verifier: '' } })],
  ['a code with another redirect_uri', 'invalid_grant', async () => ({ fields: { ...codeFields(await codeFor()), redirect_uri: `${redirectUri}/` } })],
  ['a code with a redirect_uri that is too long', 'invalid_redirect_uri', async () => ({ fields: { ...codeFields(await codeFor()), redirect_uri: redirectUri + 'x'.repeat(5000) } })],
  ['a code with a scope that the client may not have', 'invalid_scope', async () => ({ fields: { ...codeFields(await codeFor()), scope: 'nonsense' } })],
  ['a code with a malformed scope', 'invalid_scope', async () => ({ fields: { ...codeFields(await codeFor()), scope: 'open"id' } })],
  ['a code that has expired', 'invalid_grant', async () => {
    const fields = codeFields(await codeFor());
    later(700);
    return { fields };
  }],
  ['a code that was used a moment ago', 'invalid_grant', async () => {
    const code = await codeFor();
    await redeem(service.issuer, code);
    return { fields: codeFields(code) };
  }],
  ['an unknown refresh token', 'invalid_grant', () => ({ fields: refreshFields('unknown') })],
  ['no refresh token', 'invalid_request', () => ({ fields: { grant_type: 'refresh_token' } })],
  ['a refresh token of another client', 'invalid_grant', async () => ({ fields: refreshFields((await tokensFor()).refresh_token), client: 'jwt' })],
  ['a refresh token that has expired', 'invalid_grant', async () => {
    const fields = refreshFields((await tokensFor()).refresh_token);
    later(APART_SECONDS - 1);
    return { fields };
  }],
  ['a refresh token with more scopes', 'invalid_scope', async () => ({ fields: { ...refreshFields((await tokensFor()).refresh_token), scope: 'openid email' } })],
  ['a refresh token with an unknown scope', 'invalid_scope', async () => ({ fields: { ...refreshFields((await tokensFor()).refresh_token), scope: 'nonsense' } })],
  ['a refresh token with a malformed scope', 'invalid_scope', async () => ({ fields: { ...refreshFields((await tokensFor()).refresh_token), scope: 'openid  profile' } })],
  ['a refresh token that was retried too often', 'invalid_grant', async () => {
    const fields = refreshFields((await tokensFor()).refresh_token);
    for (let use = 0; use < 6; use += 1) await ask({ fields }, plainType);
    return { fields };
  }],
  ['client credentials with a scope that the client may not have', 'invalid_scope', () => ({ fields: { grant_type: 'client_credentials', scope: 'invoices.write nonsense' }, client: 'service' })],
  ['a grant type that is not served', 'unsupported_grant_type', () => ({ fields: { grant_type: 'password' } })],
  ['a grant type that the client may not use', 'unauthorized_client', () => ({ fields: { grant_type: gateGrant, error: 'x' } })],
  ['no grant type', 'invalid_request', () => ({ fields: { code: 'x' } })],
  ['a wrong secret', 'invalid_client', () => ({ fields: refreshFields('unknown'), headers: { authorization: `Basic ${btoa('web:wrong')}` } })],
  ['an extension that refuses', 'slip_lost', () => ({ fields: { grant_type: gateGrant, error: 'slip_lost' }, client: 'keeper' })],
  ['an extension that answers 401', 'gate_locked', () => ({ fields: { grant_type: gateGrant, error: 'gate_locked' }, client: 'keeper' })],
  ['an extension that answers 403', 'gate_shut', () => ({ fields: { grant_type: gateGrant, error: 'gate_shut' }, client: 'keeper' })],
  ['an extension that answers 429', 'gate_full', () => ({ fields: { grant_type: gateGrant, error: 'gate_full' }, client: 'keeper' })],
  ['an extension that answers 503', 'temporarily_unavailable', () => ({ fields: { grant_type: gateGrant, error: 'gate_away' }, client: 'keeper' })],
  ['a CIBA request that waits', 'authorization_pending', async () => {
    const { json } = await callsTo(service).ask({ login_hint: alice });
    return { fields: { grant_type: CIBA_GRANT, auth_req_id: json.auth_req_id }, client: 'desk' };
  }],
  ['a CIBA request that was polled too early', 'slow_down', async () => {
    const { json } = await callsTo(service).ask({ login_hint: alice });
    await callsTo(service).poll(json.auth_req_id);
    return { fields: { grant_type: CIBA_GRANT, auth_req_id: json.auth_req_id }, client: 'desk' };
  }],
  ['a CIBA request that was denied', 'access_denied', async () => {
    const { json } = await callsTo(service).ask({ login_hint: alice });
    await callsTo(service).deny(alice);
    return { fields: { grant_type: CIBA_GRANT, auth_req_id: json.auth_req_id }, client: 'desk' };
  }],
  ['an unknown CIBA request', 'invalid_grant', () => ({ fields: { grant_type: CIBA_GRANT, auth_req_id: 'unknown' }, client: 'desk' })],
  ['a CIBA request for nobody', 'unknown_user_id', () => ({ fields: { scope: 'openid', login_hint: 'nobody@acme.test' }, client: 'desk', path: '/connect/ciba' })],
  ['a CIBA request without a hint', 'invalid_request', () => ({ fields: { scope: 'openid' }, client: 'desk', path: '/connect/ciba' })],
  ['a CIBA request of a client without CIBA', 'unauthorized_client', () => ({ fields: { scope: 'openid', login_hint: alice }, path: '/connect/ciba' })],
]; // biome-ignore format: a table

describe('both doors refuse alike', () => {
  test.each(table)('%s: %s', async (_what, error, make) => {
    const outcomes = [];
    for (const type of formTypes) {
      later(0);
      outcomes.push(await outcomeOf(await make(), type));
    }
    const [direct, other] = outcomes;
    expect(direct).toEqual(other);
    expect(direct).toMatchObject({ answer: { body: { error } }, lines: [expect.anything()] });
  });

  test.each([
    ['code', async () => codeFields(await codeFor())],
    ['refresh token', async () => refreshFields((await tokensFor()).refresh_token)],
  ] as const)('the %s of a user who was disabled', async (_what, make) => {
    const outcomes = [];
    for (const type of formTypes) {
      const fields = await make();
      outcomes.push(await whileDisabled(() => outcomeOf({ fields }, type)));
    }
    expect(outcomes[0]).toEqual(outcomes[1]);
    expect(outcomes[0]).toMatchObject({ answer: { status: 400, body: { error: 'invalid_grant' } } });
  });

  test('userinfo about a user whose tenant may not use the client any more', async () => {
    const { clients, tenants } = service.idp.directory;
    const globex = (await tenants.find({ limit: 10 })).find(({ name }) => name === 'Globex');
    const { access_token: token } = await tokensFor();
    await clients.update('web', { allowedTenants: [String(globex?.id)] });
    const outcomes = [];
    for (const query of ['', '?unusual=yes']) {
      service.lines.length = 0;
      const answer = await answerOf(`${service.issuer}/connect/userinfo${query}`, { headers: { authorization: `Bearer ${token}` } });
      const [line] = service.lines.filter(({ message }) => message === 'request refused');
      const { requestId: _, ...fields } = line?.fields ?? {};
      outcomes.push({ answer, fields });
    }
    await clients.update('web', { allowedTenants: null });
    expect(outcomes[0]).toEqual(outcomes[1]);
    expect(outcomes[0]).toMatchObject({ answer: { status: 401 }, fields: { client: 'web', endpoint: 'userinfo' } });
  });

  test('a caller that prefers a page gets one', async () => {
    const request = { fields: refreshFields('unknown'), headers: { accept: 'application/json;q=0.5, */*' } };
    const [direct, other] = [await ask(request, plainType), await ask(request, unusualType)];
    const shown = (answer: unknown) => ({ ...(answer as Json), body: 'a page' });
    expect(shown(direct)).toEqual(shown(other));
    expect((direct as { headers: string[] }).headers[0]).toContain('text/html');
  });
});

describe.each([
  ['the plain door', plainType],
  ['oidc-provider', unusualType],
])('by %s', (_door, type) => {
  test('a code that is replayed ends what it bought', async () => {
    const code = await codeFor();
    const { json: tokens } = await redeem(service.issuer, code);
    later(60);
    expect(await ask({ fields: codeFields(code) }, type)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await isActive(service.issuer, tokens.access_token)).toBe(false);
    expect(await refresh(service.issuer, tokens.refresh_token)).toMatchObject({ status: 400 });
  });

  test('a refresh token that is replayed ends its family, and is reported once, whatever else the request says', async () => {
    const { refresh_token: first } = await tokensFor();
    const { json: next } = await refresh(service.issuer, first);
    const before = (await recordedEvents(directory, 'RefreshTokenReplayed')).length;
    later(60);
    const replay = { fields: { ...refreshFields(first), scope: 'nonsense' } };
    expect(await ask(replay, type)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await isActive(service.issuer, next.access_token)).toBe(false);
    expect(await recordedEvents(directory, 'RefreshTokenReplayed')).toHaveLength(before + 1);
  });

  test('of two uses of a code at the same time one gets tokens', async () => {
    const code = await codeFor();
    const answers = (await atOnce(2, () => ask({ fields: codeFields(code) }, type))) as readonly { status: number; body: Json }[];
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400]);
  });

  test('a poll that is too early counts once', async () => {
    const { json } = await callsTo(service).ask({ login_hint: alice });
    const poll = async () => ((await ask(pollOf(json.auth_req_id), type)) as { body: Json }).body.error;
    expect([await poll(), await poll()]).toEqual(['authorization_pending', 'slow_down']);
    later(11);
    expect(await poll()).toBe('authorization_pending');
  });
});

const pollOf = (authReqId: string): Refused => ({ fields: { grant_type: CIBA_GRANT, auth_req_id: authReqId }, client: 'desk' });

test('of two refreshes at the same time, one by each door, both get the same successor', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { refresh_token: token } = await tokensFor();
    const answers = (await Promise.all(formTypes.map((type) => ask({ fields: refreshFields(token) }, type)))) as {
      status: number;
      body: Json;
    }[];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
  }
});

describe('one run of one handler', () => {
  /** Returns the reads and counts of a request that is refused directly. */
  const refused = async (request: Refused): Promise<typeof asked> => {
    asked.reads = [];
    asked.hits = [];
    expect(await ask(request, plainType)).toMatchObject({ status: 400 });
    return { reads: [...asked.reads], hits: [...asked.hits] };
  };
  const countOf = (kinds: readonly string[], kind: string): number => kinds.filter((each) => each === kind).length;

  test('a wrong code and an expired refresh token are read once', async () => {
    const code = await codeFor();
    const wrong = { ...code, code: `${code.code.slice(0, -4)}AAAA` };
    expect(countOf((await refused({ fields: codeFields(wrong) })).reads, 'AuthorizationCode')).toBe(1);
    const unproven = { ...codeFields(code), code_verifier: 'v'.repeat(43) };
    expect(countOf((await refused({ fields: unproven })).reads, 'AuthorizationCode')).toBe(1);
    const { refresh_token: token } = await tokensFor();
    later(APART_SECONDS - 1);
    expect(countOf((await refused({ fields: refreshFields(token) })).reads, 'RefreshToken')).toBe(1);
  });

  test('a CIBA request that waits is read once, and its poll is counted once', async () => {
    const { json } = await callsTo(service).ask({ login_hint: alice });
    expect(await refused(pollOf(json.auth_req_id))).toEqual({
      reads: ['Extension.ciba.requests', 'Extension.ciba.books'],
      hits: ['Attempts', 'Attempts'],
    });
  });

  test('a grant type of an extension is asked once, by each door', async () => {
    for (const type of formTypes) {
      exchanged = 0;
      await ask({ fields: { grant_type: gateGrant, error: 'slip_lost' }, client: 'keeper' }, type);
      expect(exchanged).toBe(1);
    }
  });
});
