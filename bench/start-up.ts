/**
 * Costs of a process before its first answer: CPU time of the import, CPU time of the whole process until the first answer, and memory of the process while
 * it waits for requests. Each sample is its own process.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fixed, formatTable } from './results/comparison.js';
import { median } from './results/statistics.js';
import { settings } from './settings.js';
import { signingKeys } from './world.js';

const run = promisify(execFile);

/** Milliseconds without a request before the memory is read. */
const IDLE_MS = 2000;

interface Sample {
  /** Milliseconds. */
  readonly cpu: number;
  /** MiB. */
  readonly memory: number;
}

const keys = JSON.stringify(signingKeys);
const issuer = 'http://localhost:3000';
const redirectUris = `redirect_uris: ['${issuer}/callback']`;

const imports = { bare: "await import('oidc-provider');", ours: "await import('tenant-idp');" };

const services = {
  bare: `const { default: Provider } = await import('oidc-provider');
    const clients = [{ client_id: 'web', client_secret: 'web-secret', ${redirectUris} }];
    const callback = new Provider('${issuer}', { clients, jwks: { keys: ${keys} } }).callback();`,
  ours: `const { createIdentityProvider } = await import('tenant-idp');
    const seed = { clients: [{ id: 'web', name: 'Web', secret: 'web-secret', metadata: { ${redirectUris} } }] };
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const callback = (await createIdentityProvider({ issuer: '${issuer}', keys: { signing: ${keys} }, seed, logger })).callback();`,
};

/** Returns a script that reports a sample after a part of a program. @param base the CPU time that does not count, in the form of `process.cpuUsage()` */
const reported = (program: string, base: string): string => `
  const base = ${base};
  ${program}
  const { user, system } = process.cpuUsage();
  const cpu = (user + system - base.user - base.system) / 1000;
  await new Promise((resolve) => setTimeout(resolve, idle));
  const sample = { cpu, memory: process.memoryUsage.rss() / 2 ** 20 };
  process.stdout.write(JSON.stringify(sample), () => process.exit());`;

const importScript = (program: string): string => `const idle = 0; ${reported(program, 'process.cpuUsage()')}`;

/** Serves one request for the discovery document. */
const serviceScript = (program: string): string => `
  import { createServer, get } from 'node:http';
  const idle = ${IDLE_MS};
  ${reported(
    `${program}
    const server = createServer(callback);
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    await new Promise((resolve, reject) => {
      const { port } = server.address();
      get({ host: '127.0.0.1', port, path: '/.well-known/openid-configuration' }, (response) => {
        if (response.statusCode !== 200) reject(new Error(\`discovery answered \${response.statusCode}\`));
        response.resume().on('end', resolve);
      });
    });`,
    '{ user: 0, system: 0 }',
  )}`;

async function sampleOf(script: string): Promise<Sample> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, NODE_ENV: 'development' },
  });
  // Notices of oidc-provider come first.
  return JSON.parse(stdout.split('\n').at(-1) ?? '') as Sample;
}

export async function measureStartUp(): Promise<string> {
  const [imported, served] = [await takeTurns(imports, importScript), await takeTurns(services, serviceScript)];
  const lines = [
    ['CPU time of the import, ms', ...cellsOf(imported, 'cpu'), '1.50 ×'],
    ['CPU time to the first answer, ms', ...cellsOf(served, 'cpu'), '1.90 ×'],
    ['memory while idle, MiB', ...cellsOf(served, 'memory'), '130'],
  ];
  return formatTable(['Cost', 'oidc-provider', 'Ours', 'Ours / oidc-provider', 'At most'], lines);
}

type Samples = Readonly<Record<'bare' | 'ours', readonly Sample[]>>;

/** Returns the medians of both sides and of their ratio. */
function cellsOf(samples: Samples, cost: keyof Sample): readonly string[] {
  const [bare, ours] = [samples.bare, samples.ours].map((each) => each.map((sample) => sample[cost])) as [number[], number[]];
  const ratios = ours.map((value, round) => value / (bare[round] ?? Number.NaN));
  return [...[bare, ours].map((values) => String(Math.round(median(values)))), fixed(median(ratios))];
}

/** Takes samples of both sides in turns. */
async function takeTurns(programs: Readonly<Record<'bare' | 'ours', string>>, scriptOf: (program: string) => string): Promise<Samples> {
  const samples = { bare: [] as Sample[], ours: [] as Sample[] };
  for (let round = 0; round < settings.rounds; round += 1) {
    samples.bare.push(await sampleOf(scriptOf(programs.bare)));
    samples.ours.push(await sampleOf(scriptOf(programs.ours)));
  }
  return samples;
}
