/** A service provider that shares no code with this project: Apache with mod_auth_mellon, as packaged by Debian. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../service/free-port.js';
import { until } from '../../time/until.js';
import { testKeyOf } from '../keys/test-keys.js';

const MODULES = '/usr/lib/apache2/modules';
const PROGRAM = '/usr/sbin/apache2';

/** Debian packages that mellon requires. */
export const mellonPackages = { apache2: PROGRAM, 'libapache2-mod-auth-mellon': join(MODULES, 'mod_auth_mellon.so') };

export interface Mellon {
  readonly origin: string;
  /** URL at which mellon publishes its metadata. */
  readonly metadataUrl: string;
  stop(): Promise<void>;
  log(): Promise<string>;
}

/** Returns metadata for mellon with another NameID format, because the metadata that mellon generates names transient NameIDs. */
const metadataNaming = (format: string, origin: string, certificate: string): string =>
  `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${origin}/mellon/metadata">
<SPSSODescriptor AuthnRequestsSigned="true" WantAssertionsSigned="true" protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
<KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${certificate}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
<SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${origin}/mellon/logout"/>
<NameIDFormat>urn:oasis:names:tc:SAML:2.0:nameid-format:${format}</NameIDFormat>
<AssertionConsumerService index="0" isDefault="true" Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="${origin}/mellon/postResponse"/>
</SPSSODescriptor></EntityDescriptor>`;

/**
 * @param idpMetadata XML.
 * @param format of the NameID that mellon asks for.
 */
export async function startMellon(idpMetadata: string, format?: 'persistent'): Promise<Mellon> {
  const port = await freePort();
  const dir = await mkdtemp(join(tmpdir(), 'mellon-'));
  const at = (name: string): string => join(dir, name);
  // Mellon runs at another host name than the service, so that neither gets the other's cookies.
  const origin = `http://localhost:${port}`;
  const { key, certificate, der } = await testKeyOf('mellon');
  await mkdir(at('www'));
  await mkdir(at('www/private'));
  await writeFile(at('sp.key'), key);
  await writeFile(at('sp.crt'), certificate);
  await writeFile(at('idp.xml'), idpMetadata);
  if (format !== undefined) await writeFile(at('sp.xml'), metadataNaming(format, origin, der));
  await writeFile(at('www/index.html'), '<title>Open</title><p>Nobody asks who you are.</p>');
  await writeFile(at('www/private/index.shtml'), '<title>Private</title><p id="name"><!--#echo var="MELLON_NAME_ID" --></p>');
  const modules = [
    'mpm_prefork',
    'authn_core',
    'authz_core',
    'authz_user',
    'auth_mellon',
    'dir',
    'env',
    'setenvif',
    'headers',
    'include',
    'mime',
  ];
  const config = [
    `ServerRoot "${dir}"`,
    `PidFile "${at('apache.pid')}"`,
    `ServerName ${origin}`,
    `Listen 127.0.0.1:${port}`,
    'StartServers 2',
    `ErrorLog "${at('error.log')}"`,
    'LogLevel info',
    ...modules.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`),
    `DocumentRoot "${at('www')}"`,
    `Mutex file:${dir} default`,
    'TypesConfig /dev/null',
    'AddType text/html .html .shtml',
    'DirectoryIndex index.html index.shtml',
    'AddOutputFilter INCLUDES .shtml',
    // Without https, Chromium keeps no SameSite=None cookie.
    'SetEnvIf Host . MELLON_DISABLE_SAMESITE=1',
    'MellonCacheSize 100',
    `MellonLockFile "${at('mellon.lock')}"`,
    `<Directory "${at('www')}">`,
    '  Options +Includes',
    '  Require all granted',
    '</Directory>',
    '<Location />',
    '  MellonEnable "info"',
    '  MellonEndpointPath /mellon',
    `  MellonSPentityId "${origin}/mellon/metadata"`,
    `  MellonSPPrivateKeyFile "${at('sp.key')}"`,
    `  MellonSPCertFile "${at('sp.crt')}"`,
    `  MellonIdPMetadataFile "${at('idp.xml')}"`,
    '  MellonUser "email"',
    '  MellonSecureCookie Off',
    '  MellonSubjectConfirmationDataAddressCheck Off',
    ...(format === undefined ? [] : [`  MellonSPMetadataFile "${at('sp.xml')}"`]),
    '</Location>',
    '<Location /private>',
    '  MellonEnable "auth"',
    '  AuthType "Mellon"',
    '  Require valid-user',
    '  Header set X-User "expr=%{REMOTE_USER}"',
    '  Header set X-Name-Id "%{MELLON_NAME_ID}e"',
    '  Header set X-Tid "%{MELLON_tid}e"',
    '  Header set X-Roles "%{MELLON_role}e"',
    '</Location>',
  ];
  await writeFile(at('apache.conf'), `${config.join('\n')}\n`);
  // If root runs Apache, its workers run as `www-data`.
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? ['-c', 'User www-data', '-c', 'Group www-data'] : [];
  if (isRoot) spawnSync('chown', ['-R', 'www-data:www-data', dir]);
  // Apache ends its whole process group, so Apache gets its own group.
  const server: ChildProcess = spawn(PROGRAM, ['-f', at('apache.conf'), ...user, '-D', 'FOREGROUND'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let problem = '';
  server.stderr?.on('data', (data: Buffer) => {
    problem += data;
  });
  const log = async () => problem + (await readFile(at('error.log'), 'utf8').catch(() => ''));
  const stop = async () => {
    if (server.exitCode === null && server.signalCode === null) {
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
    }
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await until(async () => {
      if (server.exitCode !== null) throw new Error(`Apache does not start: ${await log()}`);
      return (await fetch(`${origin}/`).catch(() => undefined))?.status === 200;
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { origin, metadataUrl: `${origin}/mellon/metadata`, stop, log };
}
