/** Settings of the demo: PORT, RP_PORT and ISSUER of the environment, and its arguments. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { parseArgs } from 'node:util';
import { canParseUrl } from 'tenant-idp/extension';

export interface Settings {
  readonly port: number;
  readonly rpPort: number;
  readonly issuer: string;
  /** Origin of the relying party. */
  readonly rpOrigin: string;
  /** `--saml`: adds the SAML identity provider, and a service provider at the relying party. */
  readonly hasSaml: boolean;
  /** `--data <file>`: file of the records. If absent, records are lost when the demo ends. */
  readonly data?: string;
}

/** An error that the person who starts the demo can correct. */
export class SettingsError extends Error {}

/** @throws SettingsError that names the variable or the argument. */
export function readSettings(env: NodeJS.ProcessEnv, args: readonly string[]): Settings {
  const { hasSaml, ...data } = readArguments(args);
  const port = portOf(env, 'PORT', 3000);
  const rpPort = portOf(env, 'RP_PORT', 3001);
  if (port === rpPort)
    throw new SettingsError(`PORT and RP_PORT are both ${port}: the identity provider and the relying party need one each.`);
  const issuer = env.ISSUER || `http://localhost:${port}`;
  if (!/^https?:\/\/./.test(issuer) || !canParseUrl(issuer)) {
    throw new SettingsError(`ISSUER is ${JSON.stringify(issuer)}: it has to be an http or https URL, such as http://localhost:3000.`);
  }
  return { port, rpPort, issuer, rpOrigin: `http://localhost:${rpPort}`, hasSaml, ...data };
}

function readArguments(args: readonly string[]): Pick<Settings, 'hasSaml' | 'data'> {
  let parsed: { readonly saml?: boolean; readonly data?: string };
  try {
    parsed = parseArgs({ args: [...args], options: { saml: { type: 'boolean' }, data: { type: 'string' } } }).values;
  } catch (error) {
    const known = 'The demo knows --saml and --data <file>, as in npm start -- --saml.';
    throw new SettingsError(`${(error as Error).message.split('. ')[0]}. ${known}`);
  }
  const { saml = false, data } = parsed;
  if (data === '') throw new SettingsError('--data needs the name of a file, as in npm start -- --data demo.db.');
  return { hasSaml: saml, ...(data !== undefined && { data }) };
}

function portOf(env: NodeJS.ProcessEnv, variable: string, otherwise: number): number {
  const text = env[variable] || String(otherwise);
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new SettingsError(`${variable} is ${JSON.stringify(text)}: it has to be a port, a number from 1 to 65535.`);
}

/**
 * @param variable that sets the port. The port of the organisation's own provider is chosen once and kept with the keys.
 * @throws SettingsError if another program listens on the port, or if the demo may not listen on the port.
 */
export async function checkPort(port: number, variable?: 'PORT' | 'RP_PORT'): Promise<void> {
  const server = createServer();
  try {
    await once(server.listen(port), 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'is in use' : `cannot be used (${code})`;
    const advice =
      variable === undefined ? 'end that program' : `set ${variable} to another one, such as ${variable}=${port + 100} npm start`;
    throw new SettingsError(`Port ${port} ${why}: ${advice}.`);
  }
  server.close();
  await once(server, 'close');
}
