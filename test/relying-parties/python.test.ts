/** Applications that are made with libraries for Python: docs/connect-an-application.md. */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect } from '@jest/globals';
import { byHand, startProgram } from '../servers/outside-programs.js';
import { freePort } from '../support/service/free-port.js';
import { until } from '../support/time/until.js';
import { applicationNamed, page } from './applications.js';
import { type Place, signOutAfterQuestion, trySignIn, type Way } from './sign-in.js';

const probe = ['python3', '-c', 'import venv, ensurepip'];
const alice = { email: 'alice@acme.test' };

/** Programs of a virtual environment with the packages of all rows. The first test makes this environment. */
let programs: string | undefined;
afterAll(() => {
  if (programs) rmSync(dirname(programs), { recursive: true });
});

function python(): string {
  if (programs) return programs;
  const folder = mkdtempSync(join(tmpdir(), 'relying-parties-python-'));
  execFileSync('python3', ['-m', 'venv', folder], { stdio: 'ignore' });
  const rows = ['Authlib', 'django-allauth', 'mozilla-django-oidc', 'requests-oauthlib', 'JupyterHub'];
  const versions = rows.flatMap((row) => [...applicationNamed(row).triedWith].map(([name, version]) => `${name}==${version}`));
  const packages = [...new Set(versions), 'django-allauth[socialaccount]', 'requests'];
  const pip = [join(folder, 'bin/pip'), 'install', '--quiet', '--disable-pip-version-check', ...packages];
  execFileSync('nice', pip, { stdio: ['ignore', 'ignore', 'inherit'] });
  programs = join(folder, 'bin');
  return programs;
}

/** Runs a command in the place's folder. */
const run = ({ folder, env }: Place, command: string) =>
  void execFileSync('sh', ['-c', command], { cwd: folder, env: { ...process.env, ...env }, stdio: 'pipe' });

const start = ({ folder, env, origin }: Place, command: string): Promise<ChildProcess> =>
  startProgram(['sh', '-c', `cd '${folder}' && exec ${command}`], { ...env, PYTHONDONTWRITEBYTECODE: 'yes' }, origin);

/** Starts the block. `/` answers the person's data that the block keeps. */
async function startFlask(place: Place): Promise<ChildProcess> {
  const home = "from flask import jsonify, session\nfrom application import app\napp.route('/')(lambda: jsonify(session.get('user')))\n";
  writeFileSync(join(place.folder, 'application.py'), place.blocks[0] ?? '');
  writeFileSync(join(place.folder, 'around.py'), home);
  // The redirect URI of this test is not https.
  return start(
    { ...place, env: { ...place.env, OAUTHLIB_INSECURE_TRANSPORT: 'yes' } },
    `${python()}/flask --app around run --port ${place.port}`,
  );
}

/** Starts a new project with the block at the end of its settings, and the line of the section in its URLs. `/` answers the user. */
async function startDjango(name: string, place: Place, module?: string): Promise<ChildProcess> {
  const [settings = '', other = ''] = place.blocks;
  const [, urls = ''] = /In `urls\.py`: `(.*)`\./.exec(page.section(name)) ?? [];
  const user = "{'name': r.user.get_username(), 'email': getattr(r.user, 'email', '')}";
  const lines = [
    'from django.http import JsonResponse',
    'from django.urls import include, path',
    `urlpatterns = [path('', lambda r: JsonResponse(${user})), ${urls}]`,
  ];
  writeFileSync(join(place.folder, 'block.py'), `\nimport os\n${settings}`);
  if (module) writeFileSync(join(place.folder, module), other);
  run(place, `${python()}/django-admin startproject around .`);
  writeFileSync(join(place.folder, 'around/urls.py'), lines.join('\n'));
  run(place, `cat block.py >> around/settings.py && ${python()}/python manage.py migrate`);
  return start(place, `${python()}/python manage.py runserver --noreload ${place.port}`);
}

/** Removes the users and sessions. */
const forget = (place: Place) => run(place, `${python()}/python manage.py flush --no-input`);

describe('relying parties in Python', () => {
  byHand('Authlib', probe, async () => {
    const way: Way = {
      callback: '/callback',
      start: startFlask,
      signOut: { ask: (agent, origin) => agent.get(`${origin}/logout`), end: '/' },
    };
    await trySignIn('Authlib', way);
    const change = (block: string) => block.replace(", 'code_challenge_method': 'S256'", '');
    await trySignIn('Authlib', { ...way, change, sends: { pkce: false, nonce: true } });
  });

  byHand('requests-oauthlib', probe, async () => {
    const way: Way = { callback: '/callback', start: startFlask };
    await trySignIn('requests-oauthlib', way);
    const change = (block: string) =>
      block
        .replace("pkce='S256'", '')
        .replace(/.*_code_verifier\n/, '')
        .replace(/, code_verifier=.*(?=,\n)/, '');
    await trySignIn('requests-oauthlib', { ...way, change, sends: { pkce: false, nonce: false } });
  });

  byHand('django-allauth', probe, async () => {
    const way: Way = {
      callback: '/accounts/oidc/tenant-idp/login/callback/',
      start: (place) => startDjango('django-allauth', place),
      forget,
      open: async (agent, origin) => agent.submit(await agent.get(`${origin}/accounts/oidc/tenant-idp/login/`), {}),
      claims: alice,
    };
    await trySignIn('django-allauth', way);
    const change = (block: string) => block.replace("'OAUTH_PKCE_ENABLED': True,", '');
    await trySignIn('django-allauth', { ...way, change, sends: { pkce: false, nonce: false } });
  });

  byHand('mozilla-django-oidc', probe, async () => {
    const way: Way = {
      callback: '/oidc/callback/',
      start: (place) => startDjango('mozilla-django-oidc', place, 'people.py'),
      forget,
      open: (agent, origin) => agent.get(`${origin}/oidc/authenticate/`),
      claims: { ...alice, name: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      signOut: {
        ask: (agent, origin) =>
          agent.post(`${origin}/oidc/logout/`, { csrfmiddlewaretoken: agent.cookies.get('csrftoken /')?.value ?? '' }),
        end: '/',
      },
    };
    await trySignIn('mozilla-django-oidc', way);
    const change = (block: string) =>
      block.replace('people.PeopleBySub', 'mozilla_django_oidc.auth.OIDCAuthenticationBackend').replace(/^OIDC_USE_PKCE .*\n/m, '');
    await trySignIn('mozilla-django-oidc', { ...way, change, claims: alice, sends: { pkce: false, nonce: true } });
  });

  byHand('JupyterHub', probe, async () => {
    const way: Way = {
      callback: '/hub/oauth_callback',
      start: startJupyterHub,
      open: (agent, origin) => agent.get(`${origin}/hub/oauth_login?next=/hub/home`),
      shown: ({ body }) => ({ user: /user: "(.*?)"/.exec(body)?.[1] }),
      claims: { user: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      signOut: { ask: (agent, origin) => signOutAfterQuestion(agent, `${origin}/hub/logout`), end: '/hub/login' },
    };
    await trySignIn('JupyterHub', way);
    const change = (block: string) => block.replace("username_claim = 'sub'", "username_claim = 'email'");
    await trySignIn('JupyterHub', { ...way, change, settings: { email: 'first' }, claims: { user: alice.email } });
  });
});

async function startJupyterHub(place: Place): Promise<ChildProcess> {
  const { folder, blocks, origin } = place;
  run(place, 'npm init --yes && npm install --ignore-scripts --no-audit --no-fund configurable-http-proxy');
  const here = [
    `c.JupyterHub.bind_url = '${origin}'`,
    `c.JupyterHub.hub_port = ${await freePort()}`,
    `c.ConfigurableHTTPProxy.api_url = 'http://127.0.0.1:${await freePort()}'`,
    `c.ConfigurableHTTPProxy.command = ['${folder}/node_modules/.bin/configurable-http-proxy']`,
  ];
  writeFileSync(join(folder, 'jupyterhub_config.py'), `${blocks[0]}\n${here.join('\n')}\n`);
  const program = await start(place, `${python()}/jupyterhub`);
  await until(
    () => fetch(`${origin}/hub/login`),
    ({ status }) => status === 200,
  );
  return program;
}
