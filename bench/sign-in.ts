import { createHash } from 'node:crypto';
import { loadavg } from 'node:os';
import { Agent, type Answer, authorizeUrl, signIn } from '../test/support/client/agent.js';
import { startIdp } from '../test/support/service/idp.js';
import { testSeed } from '../test/support/service/seed.js';
import { enrol } from '../test/support/sign-in/factors.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET } from '../test/support/sign-in/upstream-provider.js';
import { fixed, formatTable } from './results/comparison.js';
import { bootstrapInterval, median } from './results/statistics.js';
import { settings } from './settings.js';

/** Maximum ratio of silent sign-on with a requirement to silent sign-on without a requirement. */
const AT_MOST = 1.1;
/** Milliseconds of a turn of one row. */
const TURN_MS = 60;
/** Turns of each row before the measurement. */
const WARM_UP = 3;

const challenge = createHash('sha256').update('a-verifier-of-fifty-characters-as-clients-make-them').digest('base64url');

/** Measures the steps of a sign-in for which users wait, in one process with stores in memory. Passwords are hashed as in production. */
export async function measureSignIns(): Promise<string> {
  const load = loadavg()[0] ?? 0;
  const upstream = await startUpstream();
  const { issuer, close } = await startIdp({ passwords: {}, seed: seedWith(upstream.issuer) });
  upstream.register(issuer, ['upstream']);
  upstream.person = { sub: 'somebody', email: 'somebody@upstream.test', email_verified: true, given_name: 'Some', family_name: 'Body' };
  const url = (parameters: Record<string, string> = {}) =>
    authorizeUrl(issuer, { code_challenge: challenge, code_challenge_method: 'S256', ...parameters });

  const byPassword = new Agent();
  await signIn(byPassword, url(), 'bob@globex.test', 'bob');
  const byTwo = new Agent();
  await enrol(byTwo, url(), 'alice@acme.test', 'alice');

  const rows: readonly { readonly name: string; readonly journey: () => Promise<Answer> }[] = [
    { name: 'silent sign-on', journey: () => byPassword.get(url({ prompt: 'none' })) },
    { name: 'silent sign-on, second factor required', journey: () => byTwo.get(url({ prompt: 'none' })) },
    { name: 'sign-in by password', journey: () => signIn(new Agent(), url(), 'bob@globex.test', 'bob') },
    {
      name: 'sign-in at an upstream provider',
      async journey() {
        const agent = new Agent();
        const begun = await agent.follow(await agent.get(url({ acr_values: 'idp:upstream' })));
        return agent.follow(await agent.get(await atUpstream(upstream, begun)));
      },
    },
  ];

  async function turn({ name, journey }: (typeof rows)[number]): Promise<number> {
    const start = performance.now();
    for (let journeys = 1; ; journeys += 1) {
      const { location = '' } = await journey();
      if (!URL.canParse(location) || !new URL(location).searchParams.has('code')) throw new Error(`${name} ended at ${location}`);
      const elapsed = performance.now() - start;
      if (elapsed > TURN_MS) return elapsed / journeys;
    }
  }

  const wanted = rows.filter(({ name }, index) => index === 0 || settings.isWanted(name));
  const taken = new Map(wanted.map((row) => [row, [] as number[]]));
  for (let round = -WARM_UP; round < settings.rounds; round += 1) {
    // Each row is first equally often.
    const shift = (round + WARM_UP) % wanted.length;
    for (const row of [...wanted.slice(shift), ...wanted.slice(0, shift)]) {
      const milliseconds = await turn(row);
      if (round >= 0) taken.get(row)?.push(milliseconds);
    }
  }
  await close();
  await upstream.close();

  const [[, base] = [undefined, []]] = taken;
  const lines = [...taken].map(([{ name }, each]) => {
    const ratios = each.map((milliseconds, round) => milliseconds / (base[round] ?? Number.NaN));
    return {
      name,
      ratio: median(ratios),
      cells: [name, fixed(median(each)), `${fixed(median(ratios))} [${bootstrapInterval(ratios).map(fixed).join(', ')}]`],
    };
  });
  const required = lines.find(({ name }) => name.endsWith('required'));
  return [
    formatTable(
      ['Sign-in', 'Milliseconds', 'In silent sign-ons [95 %]'],
      lines.map(({ cells }) => cells),
    ),
    required && required.ratio > AT_MOST
      ? `Not below ${fixed(AT_MOST)}: ${required.name}.`
      : `A requirement costs less than ${fixed(AT_MOST)}.`,
    `Load of the machine at the start: ${fixed(load)}.`,
  ].join('\n\n');
}

/** Returns the tests' world, with a second factor for Acme, and an external provider for Globex. */
const seedWith = (issuer: string) => {
  const [acme, globex] = testSeed.tenants;
  const connection = {
    id: 'upstream',
    tenant: 'Globex',
    name: 'Upstream',
    issuer,
    clientId: 'tenant-idp',
    clientSecret: UPSTREAM_SECRET,
    createUsersIn: 'Globex',
  };
  return { ...testSeed, tenants: [{ ...acme, signIn: { requireMfa: true } }, globex], extensions: { connections: [connection] } } as never;
};
