/** Settings of the demo: PORT, RP_PORT and ISSUER of the environment, and its arguments. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { canParseUrl } from 'tenant-idp/extension';

export interface Settings {
  readonly port: number;
  readonly rpPort: number;
  readonly issuer: string;
  /** Origin of the relying party. */
  readonly rpOrigin: string;
  /** `--saml`: adds the SAML identity provider, and a service provider at the relying party. */
  readonly hasSaml: boolean;
}

/** An error that the person who starts the demo can correct. */
export class SettingsError extends Error {}

/** @throws SettingsError that names the variable or the argument. */
export function readSettings(env: NodeJS.ProcessEnv, args: readonly string[]): Settings {
  const unknown = args.find((arg) => arg !== '--saml');
  if (unknown !== undefined) throw new SettingsError(`${unknown} means nothing to the demo: it knows --saml, as in npm start -- --saml.`);
  const port = portOf(env, 'PORT', 3000);
  const rpPort = portOf(env, 'RP_PORT', 3001);
  if (port === rpPort)
    throw new SettingsError(`PORT and RP_PORT are both ${port}: the identity provider and the relying party need one each.`);
  const issuer = env.ISSUER || `http://localhost:${port}`;
  if (!/^https?:\/\/./.test(issuer) || !canParseUrl(issuer)) {
    throw new SettingsError(`ISSUER is ${JSON.stringify(issuer)}: it has to be an http or https URL, such as http://localhost:3000.`);
  }
  return { port, rpPort, issuer, rpOrigin: `http://localhost:${rpPort}`, hasSaml: args.includes('--saml') };
}

function portOf(env: NodeJS.ProcessEnv, variable: string, otherwise: number): number {
  const text = env[variable] || String(otherwise);
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new SettingsError(`${variable} is ${JSON.stringify(text)}: it has to be a port, a number from 1 to 65535.`);
}

/** @throws SettingsError if another program listens on the port, or if the demo may not listen on the port. */
export async function checkPort(port: number, variable: 'PORT' | 'RP_PORT'): Promise<void> {
  const server = createServer();
  try {
    await once(server.listen(port), 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'is in use' : `cannot be used (${code})`;
    throw new SettingsError(`Port ${port} ${why}: set ${variable} to another one, such as ${variable}=${port + 100} npm start.`);
  }
  server.close();
  await once(server, 'close');
}
