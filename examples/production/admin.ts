/** The admin API from a shell: node dist/examples/production/admin.js --help */
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { type AdminClient, createAdminClient, isAdminApiError, type Route } from 'tenant-idp/admin-client';
import { type Command, commands, type Input } from './admin-commands.js';

const help = `Usage: node dist/examples/production/admin.js <command> [options]

Commands
${commands.map(({ name, options, summary }) => `  ${[name, ...options.map(usageOf)].join(' ')}\n      ${summary}`).join('\n')}
  call '<METHOD> /path' [--param name=value …] [--query name=value …] [--body '<JSON>' | --body -]
      sends any request of the API; --body - reads it from standard input
  routes
      lists the requests that the API has

Environment, or a file .env in the working folder
  ISSUER            address of the service
  ADMIN_CLIENT_ID   a client that administers tenants (admin)
  ADMIN_SECRET      its secret

What is answered is JSON, one line for each item. Exit codes: 0 done, 1 refused (JSON on standard error says why), 2 not a command,
3 no answer: it may be tried again.
`;

/** An error that the operator can correct. */
class UsageError extends Error {}

function usageOf(option: string): string {
  const name = option.replace(/[!?]$/, '');
  const flag = option.endsWith('?') ? `--${name}` : `--${name} …`;
  return option.endsWith('!') ? flag : `[${flag}]`;
}

interface Asked {
  readonly route: string;
  readonly input: Input;
}

function readCommand(args: readonly string[]): Asked & { readonly help: boolean } {
  const names = args.slice(0, args.findIndex((arg) => arg.startsWith('-')) >>> 0);
  if (args.includes('--help') || names.length === 0) return { route: '', input: {}, help: true };
  if (names[0] === 'routes') return { route: 'routes', input: {}, help: false };
  if (names[0] === 'call') return { ...readCall(names.slice(1), args.slice(names.length)), help: false };
  const command = commands.find(({ name }) => name === names.join(' '));
  if (!command) throw new UsageError(`There is no command ${names.join(' ')}; --help lists them.`);
  return { route: command.route, input: command.input(valuesOf(command, args.slice(names.length))), help: false };
}

function valuesOf({ name, options }: Command, args: readonly string[]) {
  const known = Object.fromEntries(
    options.map((option) => [option.replace(/[!?]$/, ''), { type: option.endsWith('?') ? ('boolean' as const) : ('string' as const) }]),
  );
  const { values } = parsed({ args: [...args], options: known });
  const missing = options.filter((option) => option.endsWith('!') && !values[option.slice(0, -1)]);
  if (missing.length > 0) throw new UsageError(`${name} needs ${missing.map((option) => `--${option.slice(0, -1)}`).join(', ')}.`);
  return values as Readonly<Record<string, string | boolean | undefined>>;
}

function readCall([route = '', ...more]: readonly string[], args: readonly string[]): Asked {
  if (more.length > 0 || !/^[A-Z]+ \//.test(route)) throw new UsageError("call needs a method and a path: call 'GET /tenants'");
  const options = {
    param: { type: 'string', multiple: true },
    query: { type: 'string', multiple: true },
    body: { type: 'string' },
  } as const;
  const { values } = parsed({ args: [...args], options });
  const pairs = (given: unknown): Record<string, string> =>
    Object.fromEntries(
      ((given as readonly string[] | undefined) ?? []).map((pair) => {
        const at = pair.indexOf('=');
        if (at < 1) throw new UsageError(`${pair} is no name=value.`);
        return [pair.slice(0, at), pair.slice(at + 1)];
      }),
    );
  return {
    route,
    input: { params: pairs(values.param), query: pairs(values.query), ...(values.body === undefined ? {} : { body: String(values.body) }) },
  };
}

function parsed(config: { args: string[]; options: NonNullable<Parameters<typeof parseArgs>[0]>['options'] }) {
  try {
    return parseArgs({ ...config, strict: true, allowPositionals: false } as NonNullable<Parameters<typeof parseArgs>[0]>);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Returns the scope of each operation, from the API's OpenAPI document. */
async function scopesByRoute(issuer: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const json = async (url: string) => (await fetch(url)).json() as Promise<Record<string, unknown>>;
  const { admin_api_endpoint: base } = await json(`${issuer}/.well-known/openid-configuration`);
  const { paths } = (await json(`${base}/openapi.json`)) as {
    paths: Record<string, Record<string, { security: readonly Record<string, readonly string[]>[] }>>;
  };
  return new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { security }]) => [
        `${method.toUpperCase()} ${path}`,
        security.flatMap((each) => Object.values(each).flat()),
      ]),
    ),
  );
}

async function bodyOf(body: unknown): Promise<unknown> {
  if (typeof body !== 'string') return body;
  try {
    return JSON.parse(body === '-' ? await text(process.stdin) : body);
  } catch {
    throw new UsageError('--body is no JSON.');
  }
}

const print = (value: unknown): void => console.log(JSON.stringify(value));

async function run(args: readonly string[]): Promise<void> {
  const { route, input, help: isHelp } = readCommand(args);
  if (isHelp) {
    console.log(help);
    return;
  }
  if (existsSync('.env')) process.loadEnvFile('.env');
  const { ISSUER: issuer, ADMIN_CLIENT_ID: clientId = 'admin', ADMIN_SECRET: clientSecret } = process.env;
  if (!issuer || !clientSecret) throw new UsageError('Not set: ISSUER or ADMIN_SECRET.');
  const routes = await scopesByRoute(issuer);
  if (route === 'routes') {
    for (const [name, scopes] of routes) print({ route: name, scopes });
    return;
  }
  const scopes = routes.get(route);
  if (!scopes) throw new UsageError(`The API has no ${route}; the command routes lists what it has.`);
  const { body, ...rest } = input;
  const given = { ...rest, ...(body === undefined ? {} : { body: await bodyOf(body) }) };
  await send(createAdminClient({ issuer, clientId, clientSecret, scopes }), route as Route, given);
}

/** Sends the request. A list continues to its end, unless one page was requested. */
async function send(admin: AdminClient, route: Route, input: Input): Promise<void> {
  const isPage = input.query?.limit !== undefined || input.query?.after !== undefined;
  for (let after: string | undefined; ; ) {
    const query = { ...input.query, ...(after !== undefined && { after }) };
    const answer = (await admin.request(route, { ...input, query } as never)) as Page | undefined;
    if (answer?.items === undefined || isPage) {
      if (answer !== undefined) print(answer);
      return;
    }
    for (const item of answer.items) print(item);
    // The feed of events always has a next page.
    if (answer.next === undefined || answer.next === after) return;
    after = answer.next;
  }
}

interface Page {
  readonly items?: readonly unknown[];
  readonly next?: string;
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  if (error instanceof UsageError) console.error(error.message);
  else if (isAdminApiError(error)) {
    const { message, status, code, problems, requestId } = error;
    console.error(JSON.stringify({ message, status, code, ...(problems.length > 0 && { problems }), ...(requestId && { requestId }) }));
  } else console.error(error instanceof Error ? error.message : error);
  process.exitCode = exitCodeOf(error);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return 2;
  return isAdminApiError(error) && error.status > 0 && error.status < 500 && error.status !== 429 ? 1 : 3;
}
