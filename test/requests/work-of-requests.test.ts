/**
 * T3-DOS-CUTS, T3-DOS-NFKC: the work for an anonymous request grows no faster than its length. Each bad text is sent in each place of each
 * route that the service registers. With `PROVE` the CPU time of the service is compared for n, 2n and 4n characters. `npm test` sends a
 * few of these requests, and measures nothing.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce, formOf } from '../support/client/agent.js';
import { rawRequest } from '../support/client/raw-request.js';
import type { Route } from '../support/requests/request-grammar.js';
import { badTexts } from '../support/requests/work/bad-texts.js';
import type { FromMeasured } from '../support/requests/work/measured.js';
import { mostIn, type Place, places, requestWith, type SignInUnderWay, type Target } from '../support/requests/work/text-places.js';
import { testSeed } from '../support/service/seed.js';

const isWhole = process.env.PROVE !== undefined;

/** Milliseconds that any request may take. Only slower requests are measured at several lengths. */
const CHEAP_MS = 10;
/** Requests that are sent at the same time, and milliseconds that they may take together before each is measured alone. */
const GROUP = { size: 12, cheapMs: 40 };
/** Factor by which the CPU time may grow for a text of twice the length. */
const MOST = 3;
const BEST_OF = 5;

let service: ChildProcess;
let issuer: string;
let routes: readonly Route[];

/** Resolves with the next message of the service. */
const said = (): Promise<FromMeasured> =>
  new Promise((resolve, reject) => {
    const over = () => reject(new Error('the service ended'));
    service.once('exit', over).once('message', (message: FromMeasured) => {
      service.off('exit', over);
      resolve(message);
    });
  });

async function cpuMs(): Promise<number> {
  const answer = said();
  service.send('cpu?');
  const message = await answer;
  if (!('cpuMs' in message)) throw new Error('the service said something else');
  return message.cpuMs;
}

beforeAll(async () => {
  service = fork(new URL('../support/requests/work/measured.js', import.meta.url), [JSON.stringify({ seed: testSeed })], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const message = await said();
  if (!('issuer' in message)) throw new Error('the service did not start');
  ({ issuer, routes } = message);
});
afterAll(() => void service.kill());

interface Case {
  readonly target: Target;
  readonly place: Place;
  readonly kind: string;
  readonly textOf: (length: number) => string;
}

/** Starts a sign-in, for pages that belong to a sign-in. */
async function begin(): Promise<SignInUnderWay> {
  const agent = new Agent();
  const { challenge } = createPkce();
  const page = await agent.follow(await agent.get(authorizeUrl(issuer, { code_challenge: challenge, code_challenge_method: 'S256' })));
  return {
    cookies: [...agent.cookies].map(([key, { value }]) => `${key.split(' ')[0]}=${value}`).join('; '),
    csrf: formOf(page).fields.csrf ?? '',
    uid: new URL(page.url).pathname.split('/').pop() ?? '',
  };
}
let here: SignInUnderWay;

/** Returns the status of the answer, or undefined if the server closed the connection. */
async function send({ target, place, textOf }: Case, length: number): Promise<number | undefined> {
  const { lines, body } = requestWith(place, target, textOf(length), here);
  return (await rawRequest(issuer, lines, body).catch(() => undefined))?.status;
}
const longestOf = ({ target, place, textOf }: Case): number => mostIn(place, target, textOf, here);

async function costOf(work: () => Promise<unknown>): Promise<number> {
  const before = await cpuMs();
  await work();
  return (await cpuMs()) - before;
}
async function bestOf(each: Case, length: number): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < BEST_OF; tries += 1) best = Math.min(best, await costOf(() => send(each, length)));
  return best;
}

/**
 * Returns undefined for a request whose work grows no faster than its length. Otherwise returns the measured values, which two consecutive
 * measurements confirmed.
 */
async function excess(each: Case): Promise<string | undefined> {
  const longest = longestOf(each);
  if ((await bestOf(each, longest)) < CHEAP_MS) return undefined;
  let measured: readonly number[] = [];
  for (let rounds = 0; rounds < 2; rounds += 1) {
    const [n, twice, fourTimes] = [await bestOf(each, longest / 4), await bestOf(each, longest / 2), await bestOf(each, longest)];
    if (twice <= MOST * n && fourTimes <= MOST * twice) return undefined;
    measured = [n, twice, fourTimes];
  }
  const { target, place, kind } = each;
  return `${target.method} ${target.path}: ${kind} in ${place.name}: ${measured.map((ms) => ms.toFixed(1)).join(', ')} ms`;
}

function allCases(): readonly Case[] {
  const targets = routes.flatMap(({ path, methods }) =>
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
      // Endpoints of the protocol accept the same parameters in a form as in a query.
      .filter((method) => methods.includes(method) || (method === 'POST' && path.startsWith('/connect/')))
      .map((method) => ({ method, path })),
  );
  expect(targets).toEqual(
    expect.arrayContaining([
      { method: 'POST', path: '/connect/authorize' },
      { method: 'POST', path: '/idp/interaction/:uid/password' },
      { method: 'GET', path: '/idp/saml/sso' },
    ]),
  );
  return targets.flatMap((target) =>
    places
      .filter(({ isFor }) => isFor(target))
      .flatMap((place) => Object.entries(badTexts).map(([kind, textOf]): Case => ({ target, place, kind, textOf }))),
  );
}

test('T3-DOS-CUTS T3-DOS-NFKC: no request costs more than its length, in any place of any route', async () => {
  const all = allCases();
  const tried = isWhole ? all : all.filter((_, index) => index % 1999 === 0);
  const found: string[] = [];
  for (let at = 0; at < tried.length; at += GROUP.size) {
    if (at % (GROUP.size * 20) === 0) here = await begin();
    const group = tried.slice(at, at + GROUP.size);
    const statuses: (number | undefined)[] = [];
    const cost = await costOf(async () => {
      statuses.push(...(await Promise.all(group.map((each) => send(each, longestOf(each))))));
    });
    expect(statuses.filter((status) => status !== undefined && status >= 500 && status !== 503)).toEqual([]);
    if (!isWhole || cost < GROUP.cheapMs) continue;
    for (const each of group) found.push(...[await excess(each)].filter((each) => each !== undefined));
  }
  expect(found).toEqual([]);
});
