/** Runs plans of the OpenID Foundation's conformance suite against this service, as README.md of this folder describes. */
import { createServer, type Server } from 'node:http';
import { createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { allPlans, configFor, PEOPLE, type Plan, type Sides, seedOf, userNameOf } from './plans.js';

const { SUITE_URL: suite = 'https://localhost.emobix.co.uk:8443', SUITE_TOKEN: token, ISSUER: issuer, PORT = '3000' } = process.env;
const POLL_MS = 2000;
/** Maximum duration of a module, in milliseconds. */
const MODULE_MS = 300_000;

interface Module {
  readonly testModule: string;
  readonly variant?: Readonly<Record<string, string>>;
}
interface Info {
  readonly status: string;
  readonly result?: string;
}

async function call<Result>(
  method: 'GET' | 'POST',
  path: string,
  query: Readonly<Record<string, string>> = {},
  body?: unknown,
): Promise<Result> {
  const response = await fetch(`${suite}/api/${path}?${new URLSearchParams(query)}`, {
    method,
    headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`The suite answered ${response.status} to ${method} ${path}: ${await response.text()}`);
  return (await response.json()) as Result;
}

/** Answers the CIBA requests that wait for people, in place of these people. */
async function answerWaiting({ directory, ciba }: IdentityProvider, action: string): Promise<void> {
  for (let index = 1; index < PEOPLE; index += 1) {
    const [account] = await directory.accounts.candidates(userNameOf(index));
    const oid = account?.person.user.id ?? '';
    for (const { id } of await ciba.pendingOf(oid)) {
      if (action === 'deny') await ciba.deny(id);
      else await ciba.approve(id, { oid, amr: ['pwd'], idp: 'local', authTime: Math.floor(Date.now() / 1000) });
    }
  }
}

/** Serves the service of a plan on `PORT`. A proxy in front of it ends TLS. */
async function serve(plan: Plan, sides: Sides): Promise<{ close(): Promise<void> }> {
  const idp = await createIdentityProvider({ ...plan.options, issuer: sides.issuer, seed: seedOf(plan) });
  const callback = idp.callback();
  const server: Server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', sides.issuer);
    if (!pathname.endsWith('/suite/ciba')) return callback(request, response);
    answerWaiting(idp, searchParams.get('action') ?? '').then(
      () => response.writeHead(204).end(),
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(Number(PORT), resolve));
  return {
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await idp.close();
    },
  };
}

const wait = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, POLL_MS));

async function runModule(planId: string, { testModule, variant }: Module): Promise<Info> {
  const { id } = await call<{ id: string }>('POST', 'runner', {
    test: testModule,
    plan: planId,
    ...(variant === undefined ? {} : { variant: JSON.stringify(variant) }),
  });
  let isStarted = false;
  for (const end = Date.now() + MODULE_MS; Date.now() < end; await wait()) {
    const info = await call<Info>('GET', `info/${id}`);
    if (info.status === 'CONFIGURED' && !isStarted) {
      isStarted = true;
      await call('POST', `runner/${id}`);
    }
    if (info.status === 'FINISHED' || info.status === 'INTERRUPTED') return info;
  }
  return { status: 'WAITING', result: `not finished: ${suite}/log-detail.html?log=${id}` };
}

async function run(plan: Plan, sides: Sides): Promise<void> {
  const service = await serve(plan, sides);
  try {
    const create = (index: number) =>
      call<{ id: string; modules: readonly Module[] }>(
        'POST',
        'plan',
        { planName: plan.planName, variant: JSON.stringify(plan.variant) },
        configFor(plan, index),
      );
    const { id, modules } = await create(0);
    console.log(`${plan.planName} ${JSON.stringify(plan.variant)}: ${suite}/plan-detail.html?plan=${id}`);
    for (const [index, module] of modules.entries()) {
      const planId = plan.isPersonPerModule && index > 0 ? (await create(index)).id : id;
      const { status, result } = await runModule(planId, module);
      console.log(`${result ?? status}\t${module.testModule}`);
    }
  } finally {
    await service.close();
  }
}

if (issuer === undefined) throw new Error('ISSUER is missing. Set it to the https URL by which the suite reaches this service.');
const sides = { issuer, suite };
const plans = await allPlans(sides);
const names = process.argv.slice(2);
const unknown = names.filter((name) => !plans.some(({ id }) => id === name));
if (unknown.length > 0) throw new Error(`Unknown plans: ${unknown.join(', ')}. Use ${plans.map(({ id }) => id).join(', ')}.`);
for (const plan of plans) if (names.length === 0 || names.includes(plan.id)) await run(plan, sides);
