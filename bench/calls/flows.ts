/** Requests of one signed-in user, over stores in memory, and the calls of these requests. Needs `recorder`, loaded first. */
import { Agent, type Answer, authorizeUrl, createPkce, postForm, signIn } from '../../test/support/client/agent.js';
import { startIdp } from '../../test/support/service/idp.js';
import { redirectUri } from '../../test/support/service/seed.js';
import { authorizationOf, unusualHeadersOf } from '../world.js';
import { startBare } from './bare.js';
import { takeCalls } from './recorder.js';

export interface FlowCalls {
  readonly flow: string;
  /** Files whose functions were called. */
  readonly ours: number;
  readonly theirs: number;
  /** Calls to a file that an earlier call had entered, from another file. */
  readonly returns: number;
  /** Calls between this library and oidc-provider, in either direction. */
  readonly crossings: number;
}

const isTheirs = (file: string): boolean => file.startsWith('node_modules/');

function countCalls(flow: string, files: readonly string[]): FlowCalls {
  const entered = files.filter((file, index) => file !== files[index - 1]);
  const distinct = new Set(entered);
  const theirs = [...distinct].filter(isTheirs).length;
  return {
    flow,
    ours: distinct.size - theirs,
    theirs,
    returns: entered.length - distinct.size,
    crossings: entered.filter((file, index) => index > 0 && isTheirs(file) !== isTheirs(entered[index - 1] as string)).length,
  };
}

const { issuer, close } = await startIdp();
const { verifier, challenge } = createPkce();
const agent = new Agent();
const urlAt = (at: string): string =>
  authorizeUrl(at, { scope: 'openid profile email', code_challenge: challenge, code_challenge_method: 'S256' });
const url = urlAt(issuer);
const codeOf = ({ location = '' }: Answer): string => new URL(location).searchParams.get('code') ?? '';
const redeem = (code: string, headers: Readonly<Record<string, string>>) =>
  postForm(
    `${issuer}/connect/token`,
    { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
    headers,
  );

const plain = { authorization: authorizationOf('web') };
const unusual = unusualHeadersOf('web');
await signIn(agent, url, 'alice@acme.test', 'alice');
// Runs once without counting, because the first request reads and compiles code.
for (const headers of [plain, unusual]) await redeem(codeOf(await agent.get(url)), headers);

const counted: FlowCalls[] = [];
const count = (flow: string): void => {
  counted.push(countCalls(flow, takeCalls()));
};
takeCalls();
const answer = await agent.get(url);
count('authorize, signed in');
for (const [flow, headers, code] of [
  ['code to tokens', plain, codeOf(answer)],
  ['code to tokens, by oidc-provider', unusual, codeOf(await agent.get(url))],
] as const) {
  takeCalls();
  const { status } = await redeem(code, headers);
  if (status !== 200) throw new Error(`${flow} answered ${status}`);
  count(flow);
}
await close();

const bare = await startBare();
const guest = new Agent();
for (const _ of ['signs in', 'once uncounted']) codeOf(await guest.follow(await guest.get(urlAt(bare.issuer))));
takeCalls();
const bareAnswer = await guest.get(urlAt(bare.issuer));
count('authorize, signed in, bare oidc-provider');
if (codeOf(bareAnswer) === '') throw new Error(`bare oidc-provider answered ${bareAnswer.status}`);
bare.close();
process.stdout.write(JSON.stringify(counted), () => process.exit());
