/** Costs of a process before its first answer: CPU time of the import, and of the import with a service. Each sample is its own process. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fixed, formatTable } from './results/comparison.js';
import { median } from './results/statistics.js';
import { settings } from './settings.js';
import { signingKeys } from './world.js';

const run = promisify(execFile);

interface Contender {
  readonly name: string;
  readonly bare: string;
  readonly ours: string;
  /** Maximum cost, as a multiple of bare oidc-provider's. */
  readonly goal?: number;
}

const keys = JSON.stringify(signingKeys);
const issuer = 'http://localhost:3000';
const client = `{ client_id: 'web', client_secret: 'web-secret', redirect_uris: ['${issuer}/callback'] }`;
const seed = `{ clients: [{ id: 'web', name: 'Web', secret: 'web-secret', metadata: { redirect_uris: ['${issuer}/callback'] } }] }`;
const logger = '{ debug() {}, info() {}, warn() {}, error() {} }';

const contenders: readonly Contender[] = [
  { name: 'import', bare: "await import('oidc-provider');", ours: "await import('tenant-idp');", goal: 1.5 },
  {
    name: 'import and a service',
    bare: `const { default: Provider } = await import('oidc-provider');
      new Provider('${issuer}', { clients: [${client}], jwks: { keys: ${keys} } }).callback();`,
    ours: `const { createIdentityProvider } = await import('tenant-idp');
      (await createIdentityProvider({ issuer: '${issuer}', keys: { signing: ${keys} }, seed: ${seed}, logger: ${logger} })).callback();`,
  },
];

/** Returns the CPU time of a script, in milliseconds. */
async function cpuTime(script: string): Promise<number> {
  const measured = `const before = process.cpuUsage();
    ${script}
    const { user, system } = process.cpuUsage(before);
    process.stdout.write(String((user + system) / 1000), () => process.exit());`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', measured], {
    env: { ...process.env, NODE_ENV: 'development' },
  });
  return Number(stdout.split('\n').at(-1));
}

export async function measureStartUp(): Promise<string> {
  const lines: string[][] = [];
  for (const { name, bare, ours, goal } of contenders) {
    const samples: { bare: number; ours: number }[] = [];
    for (let round = 0; round < settings.rounds; round += 1) samples.push({ bare: await cpuTime(bare), ours: await cpuTime(ours) });
    const ratio = median(samples.map((sample) => sample.ours / sample.bare));
    const cells = [median(samples.map((sample) => sample.bare)), median(samples.map((sample) => sample.ours))];
    lines.push([
      name,
      ...cells.map((milliseconds) => String(Math.round(milliseconds))),
      fixed(ratio),
      goal === undefined ? '–' : fixed(goal),
    ]);
  }
  return formatTable(['CPU time', 'oidc-provider, ms', 'Ours, ms', 'Ours / oidc-provider', 'At most'], lines);
}
