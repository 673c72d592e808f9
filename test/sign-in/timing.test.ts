/**
 * G2: the time that answers take, for names that exist and for names that do not. Times are reported and never asserted. `npm run prove`
 * prints the distance of two samples of a thousand, and its likelihood if nothing tells the samples apart.
 */
import { generateKeyPairSync, hash, randomBytes, randomUUID, sign } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Row } from 'tenant-idp/store';
import type { Account } from '../../lib/directory/index.js';
import { captureMail, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce } from '../support/client/agent.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { pressForgotten } from '../support/sign-in/passwords.js';

const SAMPLES = process.env.PROVE ? 1_000 : 5;

const [acme, globex] = testSeed.tenants;
const rows = memoryDirectory();
const service = useIdp({
  hostname: 'localhost',
  directory: rows,
  seed: { ...testSeed, tenants: [{ ...acme, signIn: { selfRegistration: true } }, globex] } as never,
  mail: captureMail().mail,
  trustProxy: true,
  limits: { signInFailuresPerAddress: 100_000 },
});
let tid: string;
beforeAll(async () => {
  tid = await tenantNamed(service.idp, 'Acme');
  await givePasskey();
});

const credentialId = randomBytes(16).toString('base64url');
let carol: string;
/** Stores a passkey for Carol. Nobody has its private key any more. */
async function givePasskey(): Promise<void> {
  const { person } = (await service.idp.directory.accounts.candidates('carol@acme.test'))[0] as Account;
  carol = person.user.id;
  const { x = '', y = '' } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
  const cose = ['a5010203262001215820', Buffer.from(x, 'base64url').toString('hex'), '225820', Buffer.from(y, 'base64url').toString('hex')];
  const publicKey = Buffer.from(cose.join(''), 'hex').toString('base64url');
  await rows.collection<Row & Record<string, unknown>>('factors.enrolled').insert({
    id: randomUUID(),
    tid,
    userId: carol,
    personId: person.id,
    kind: 'passkey',
    slot: `passkey ${credentialId}`,
    createdAt: new Date().toISOString(),
    passkey: { credentialId, publicKey, counter: 0, transports: [] },
  });
}

/** Returns the answer of a browser to the challenge of the page. Its signature is not of the passkey. */
function passkeyAnswer(page: Answer, isKnown: boolean): string {
  const [, challenge = ''] = /&quot;challenge&quot;:&quot;([^&]+)&quot;/.exec(page.body) ?? [];
  const client = { type: 'webauthn.get', challenge, origin: service.issuer, crossOrigin: false };
  const authenticatorData = Buffer.concat([hash('sha256', 'localhost', 'buffer'), Buffer.from('0500000001', 'hex')]);
  const id = isKnown ? credentialId : randomBytes(16).toString('base64url');
  return JSON.stringify({
    id,
    rawId: id,
    type: 'public-key',
    clientExtensionResults: {},
    response: {
      clientDataJSON: Buffer.from(JSON.stringify(client)).toString('base64url'),
      authenticatorData: authenticatorData.toString('base64url'),
      signature: sign('sha256', Buffer.from('anything'), signer).toString('base64url'),
      userHandle: Buffer.from(isKnown ? carol : randomUUID()).toString('base64url'),
    },
  });
}
const signer = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

let addresses = 0;
/** Returns a browser at an address of its own, so that nobody is throttled. */
const browser = (): Agent => {
  addresses += 1;
  return new Agent({ 'x-forwarded-for': `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}` });
};
const begin = async (agent: Agent, parameters: Record<string, string> = {}): Promise<Answer> =>
  agent.follow(
    await agent.get(authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters })),
  );

/** Returns a name. Both names are of the same length and are used equally often, so the counts by name are the same. */
const nameOf = (isKnown: boolean): string => `${isKnown ? 'carol' : 'nemo1'}@acme.test`;

/**
 * Returns the distance of two samples, and the likelihood of this distance for two samples of one kind.
 * @see Kolmogorov–Smirnov, two samples
 */
function compare(one: readonly number[], other: readonly number[]): { readonly distance: number; readonly likelihood: number } {
  const below = (sample: readonly number[], value: number) => sample.filter((each) => each <= value).length / sample.length;
  const distance = Math.max(...[...one, ...other].map((value) => Math.abs(below(one, value) - below(other, value))));
  const root = Math.sqrt((one.length * other.length) / (one.length + other.length));
  const lambda = (root + 0.12 + 0.11 / root) * distance;
  // Below this value, the series is 1 to all digits that count.
  if (lambda < 0.2) return { distance, likelihood: 1 };
  let likelihood = 0;
  for (let term = 1; term <= 100; term += 1) likelihood += 2 * (-1) ** (term - 1) * Math.exp(-2 * term ** 2 * lambda ** 2);
  return { distance, likelihood: Math.min(1, Math.max(0, likelihood)) };
}

/** Measures posts of two kinds in turns. @param prepare does everything up to the post that is timed */
async function measure(prepare: (isKnown: boolean) => Promise<() => Promise<Answer>>): Promise<void> {
  const taken: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] };
  const statuses = new Set<number>();
  for (let index = -3; index < SAMPLES; index += 1) {
    for (const isKnown of index % 2 === 0 ? [true, false] : [false, true]) {
      const post = await prepare(isKnown);
      const start = performance.now();
      const { status } = await post();
      if (index >= 0) taken[isKnown ? 'known' : 'unknown'].push(performance.now() - start);
      statuses.add(status);
    }
  }
  expect(statuses.size).toBe(1);
  expect([taken.known.length, taken.unknown.length]).toEqual([SAMPLES, SAMPLES]);
  const found = { ...compare(taken.known, taken.unknown), samples: SAMPLES };
  if (process.env.PROVE) process.stderr.write(`${expect.getState().currentTestName}: ${JSON.stringify(found)}\n`);
}

describe('G2: what answers take tells nothing', () => {
  test('a wrong password', () =>
    measure(async (isKnown) => {
      const agent = browser();
      const page = await agent.submit(await begin(agent), { identifier: nameOf(isKnown) });
      return () => agent.submit(page, { password: 'wrong' });
    }));

  test('a wrong password, for the name of a parent of another tenant', async () => {
    const globexTid = await tenantNamed(service.idp, 'Globex');
    const [parent, child] = await Promise.all(
      [globexTid, tid].map(async (each, index) => {
        const user = { userName: index === 0 ? 'paul@globex.test' : 'paul', status: 'active' as const };
        const { id } = (await service.idp.tenant(each).persons.create({ givenName: 'P', familyName: 'P', user })).user ?? {};
        return id ?? '';
      }),
    );
    await service.idp.tenant(tid).linking.link(child ?? '', { tid: globexTid, userId: parent ?? '' });
    await measure(async (isKnown) => {
      const agent = browser();
      const page = await agent.submit(await begin(agent, { acr_values: `tenant:${tid}` }), {
        identifier: `${isKnown ? 'paul' : 'peul'}@globex.test`,
      });
      return () => agent.submit(page, { password: 'wrong' });
    });
  });

  test('a name, where passkeys are offered', () =>
    measure(async (isKnown) => {
      const agent = browser();
      const page = await begin(agent);
      return () => agent.submit(page, { identifier: nameOf(isKnown) });
    }));

  test('a passkey that proves nothing', () =>
    measure(async (isKnown) => {
      const agent = browser();
      const page = await begin(agent, { acr_values: 'idp:passkey' });
      const response = passkeyAnswer(page, isKnown);
      return () => agent.submit(page, { response });
    }));

  test('a forgotten password', () =>
    measure(async (isKnown) => {
      const agent = browser();
      const asked = await agent.submit(await begin(agent), { identifier: nameOf(isKnown) });
      const page = await pressForgotten(agent, asked);
      return () => agent.submit(page, {});
    }));

  test('a new account', () =>
    measure(async (isKnown) => {
      const agent = browser();
      const page = await begin(agent, { prompt: 'create', acr_values: `tenant:${tid}` });
      const fields = { givenName: 'New', familyName: 'Person', password: 'a password that is long' };
      return () => agent.submit(page, { ...fields, email: nameOf(isKnown) });
    }));
});

test('what is compared tells apart what differs', () => {
  const drawn = (from: number) => Array.from({ length: 200 }, (_, index) => from + (index % 50));
  expect(compare(drawn(0), drawn(0)).likelihood).toBeGreaterThan(0.9);
  expect(compare(drawn(0), drawn(20)).likelihood).toBeLessThan(0.001);
});
