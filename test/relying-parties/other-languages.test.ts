/** Applications in Ruby and Java, and a module of Apache: docs/connect-an-application.md. */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from '@jest/globals';
import { byHand, startProgram } from '../servers/outside-programs.js';
import { applicationNamed } from './applications.js';
import { type Place, trySignIn } from './sign-in.js';

const run = ({ folder }: Place, [program = '', ...args]: readonly string[]) =>
  void execFileSync(program, args, { cwd: folder, stdio: 'pipe' });

const both = ['alice@acme.test', 'alice@home.test'];

/** Starts the program of the block, whose HTTP client has its own list of certificate authorities. */
function startSinatra({ folder, blocks, env, port, origin }: Place): Promise<ChildProcess> {
  const trust = 'OpenIDConnect.http_config { |client| client.ssl_config.add_trust_ca(ENV.fetch("SSL_CERT_FILE")) }';
  writeFileSync(join(folder, 'application.rb'), `require 'openid_connect'\n${trust}\n${blocks[0]}`);
  const secrets = { ...env, COOKIE_SECRET: (env.COOKIE_SECRET ?? '').repeat(2) };
  return startProgram(['ruby', join(folder, 'application.rb'), '-p', String(port), '-o', '127.0.0.1'], secrets, origin);
}

const modules = '/usr/lib/apache2/modules';

/** Starts Apache with the block. `/secure/` answers the claims as headers. */
function startApache({ folder, blocks, env, port, origin }: Place): Promise<ChildProcess> {
  mkdirSync(join(folder, 'site/secure'), { recursive: true });
  for (const file of ['index.html', 'secure/index.html']) writeFileSync(join(folder, 'site', file), 'here');
  const lines = [
    `ServerRoot ${folder}`,
    `ServerName 127.0.0.1`,
    `PidFile ${folder}/pid`,
    `ErrorLog ${folder}/error.log`,
    `Listen 127.0.0.1:${port}`,
    'User www-data',
    'Group www-data',
    ...['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'dir', 'headers', 'auth_openidc'].map(
      (module) => `LoadModule ${module}_module ${modules}/mod_${module}.so`,
    ),
    `DocumentRoot ${folder}/site`,
    'DirectoryIndex index.html',
    'OIDCSSLValidateServer Off',
    'Header set X-Name "expr=%{req:OIDC_CLAIM_name}"',
    'Header set X-Email "expr=%{req:OIDC_CLAIM_email}"',
    blocks[0] ?? '',
  ];
  writeFileSync(join(folder, 'apache.conf'), lines.join('\n'));
  execFileSync('chmod', ['-R', 'a+rX', folder]);
  return startProgram(
    ['apache2', '-D', 'FOREGROUND', '-f', join(folder, 'apache.conf')],
    { ...env, CRYPTO_PASSPHRASE: env.COOKIE_SECRET ?? '' },
    origin,
  );
}

const dependency = (group: string, artifact: string, version?: string) =>
  `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId>${version ? `<version>${version}</version>` : ''}</dependency>`;

/** Writes the class of a block and its Maven project, and runs goals of Maven. @param elements further elements of the project */
function buildJava(place: Place, block: string, elements: string, goals: readonly string[]): void {
  const { folder } = place;
  const source = join(folder, 'src/main/java/com/example');
  mkdirSync(source, { recursive: true });
  writeFileSync(join(source, 'Application.java'), block);
  const project = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
    ${elements}<groupId>com.example</groupId><artifactId>application</artifactId><version>1</version></project>`;
  writeFileSync(join(folder, 'pom.xml'), project);
  run(place, ['nice', 'mvn', '--quiet', '--batch-mode', ...goals]);
}

/** Starts Java, which trusts the certificate of the service. */
function startJava(place: Place, args: readonly string[]): Promise<ChildProcess> {
  const { folder, env, origin } = place;
  const store = join(folder, 'trusted.p12');
  const trusted = ['-importcert', '-noprompt', '-file', env.SSL_CERT_FILE ?? '', '-keystore', store, '-storepass', 'changeit'];
  run(place, ['keytool', ...trusted]);
  const java = ['java', '-XX:ActiveProcessorCount=1', `-Djavax.net.ssl.trustStore=${store}`, '-Djavax.net.ssl.trustStorePassword=changeit'];
  return startProgram([...java, ...args], env, origin);
}

/** Builds and starts a jar with the two blocks of the section. `/user` answers the claims. */
function startSpring(place: Place): Promise<ChildProcess> {
  const { folder, blocks, port } = place;
  const boot = 'org.springframework.boot';
  const version = applicationNamed('Spring Boot').triedWith.get('Spring Boot');
  const starters = ['spring-boot-starter-web', 'spring-boot-starter-oauth2-client'];
  const elements = `<parent><groupId>${boot}</groupId><artifactId>spring-boot-starter-parent</artifactId><version>${version}</version><relativePath/></parent>
    <properties><java.version>17</java.version></properties>
    <dependencies>${starters.map((name) => dependency(boot, name)).join('')}</dependencies>
    <build><plugins><plugin><groupId>${boot}</groupId><artifactId>spring-boot-maven-plugin</artifactId></plugin></plugins></build>`;
  mkdirSync(join(folder, 'src/main/resources'), { recursive: true });
  writeFileSync(join(folder, 'src/main/resources/application.yml'), blocks[0] ?? '');
  buildJava(place, blocks[1] ?? '', elements, ['package']);
  return startJava(place, ['-jar', join(folder, 'target/application-1.jar'), `--server.port=${port}`]);
}

/** Builds and starts the class of the block, with its libraries. */
function startPac4j(place: Place): Promise<ChildProcess> {
  const { folder, blocks } = place;
  const { triedWith } = applicationNamed('pac4j');
  const pac4j = 'org.pac4j';
  const dependencies = [
    dependency(pac4j, 'pac4j-oidc', triedWith.get('pac4j')),
    dependency(pac4j, 'pac4j-jakartaee', triedWith.get('pac4j')),
    dependency(pac4j, 'javalin-pac4j', triedWith.get('javalin-pac4j')),
    dependency('io.javalin', 'javalin', triedWith.get('Javalin')),
  ];
  const properties = '<maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>';
  const elements = `<properties>${properties}</properties><dependencies>${dependencies.join('')}</dependencies>`;
  buildJava(place, blocks[0] ?? '', elements, ['compile', 'dependency:copy-dependencies']);
  return startJava(place, ['-cp', `${join(folder, 'target/classes')}:${join(folder, 'target/dependency')}/*`, 'com.example.Application']);
}

describe('relying parties in other languages', () => {
  byHand('omniauth_openid_connect', ['ruby', '-e', 'require "omniauth_openid_connect"; require "sinatra/base"'], () =>
    trySignIn('omniauth_openid_connect', {
      callback: '/auth/tenant_idp/callback',
      start: startSinatra,
      open: async (agent, origin) => agent.submit(await agent.get(`${origin}/login`), {}),
    }),
  );

  byHand('mod_auth_openidc', ['test', '-e', `${modules}/mod_auth_openidc.so`], () =>
    trySignIn('mod_auth_openidc', {
      callback: '/secure/redirect_uri',
      start: startApache,
      open: (agent, origin) => agent.get(`${origin}/secure/`),
      shown: ({ headers }) => ({ name: headers.get('x-name'), email: headers.get('x-email') }),
      claims: { name: 'Alice Adams', email: both.join(',') },
      backChannel: { path: '/secure/redirect_uri?logout=backchannel', page: '/secure/' },
      signOut: { ask: (agent, origin) => agent.get(`${origin}/secure/redirect_uri?logout=${encodeURIComponent(`${origin}/`)}`), end: '/' },
    }),
  );

  byHand('Spring Boot', ['mvn', '--version'], () =>
    trySignIn('Spring Boot', {
      callback: '/login/oauth2/code/tenant-idp',
      start: startSpring,
      open: (agent, origin) => agent.get(`${origin}/user`),
      claims: { name: 'Alice Adams', email: both },
      backChannel: { path: '/logout/connect/back-channel/tenant-idp', page: '/user' },
      signOut: { ask: async (agent, origin) => agent.submit(await agent.get(`${origin}/logout`), {}), end: '/' },
    }),
  );

  byHand('pac4j', ['mvn', '--version'], () =>
    trySignIn('pac4j', {
      callback: '/callback?client_name=OidcClient',
      start: startPac4j,
      open: (agent, origin) => agent.get(`${origin}/user`),
      backChannel: { path: '/callback?client_name=OidcClient&logoutendpoint=true', page: '/user' },
      signOut: { ask: (agent, origin) => agent.get(`${origin}/logout`), end: '/' },
    }),
  );
});
