/** Applications that are made with libraries for Node which the repository does not have: docs/connect-an-application.md. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { byHand, startProgram } from '../servers/outside-programs.js';
import type { Agent } from '../support/client/agent.js';
import { checkTypes, compiled, installPackages, startInstalled, trySignIn, type Way } from './sign-in.js';

const npm = ['npm', '--version'];
const cookieSession = ['cookie-session', '@types/cookie-session'];
const neither = { pkce: false, nonce: false };
const twoAddresses = { name: 'Alice Adams', email: ['alice@acme.test', 'alice@home.test'] };

byHand('express-openid-connect', npm, () =>
  trySignIn('express-openid-connect', {
    callback: '/callback',
    start: (place) => startInstalled('express-openid-connect', place, ['express-session', '@types/express-session', 'memorystore']),
    claims: twoAddresses,
    open: (agent, origin) => agent.get(origin),
    signOut: { ask: (agent, origin) => agent.get(`${origin}/logout`), end: '' },
    backChannel: { path: '/backchannel-logout', page: '/' },
  }),
);

byHand('openid-client', npm, () =>
  trySignIn('openid-client', {
    callback: '/callback',
    start: (place) => startInstalled('openid-client', place, cookieSession),
    claims: twoAddresses,
    signOut: { ask: (agent, origin) => agent.get(`${origin}/logout`), end: '/signed-out' },
  }),
);

byHand('MSAL Node', npm, async () => {
  const way: Way = {
    callback: '/callback',
    start: (place) => startInstalled('MSAL Node', place, cookieSession),
    claims: twoAddresses,
  };
  await trySignIn('MSAL Node', way);
  // The first example of MSAL Node sends neither PKCE nor a nonce.
  const change = (block: string) => block.replace(/, codeChallenge: .*'S256'/, '').replace(', codeVerifier: verifier', '');
  await trySignIn('MSAL Node', { ...way, change, sends: neither });
});

byHand('simple-oauth2', npm, async () => {
  const way: Way = {
    callback: '/callback',
    start: (place) => startInstalled('simple-oauth2', place, ['@types/simple-oauth2', ...cookieSession]),
    claims: twoAddresses,
  };
  await trySignIn('simple-oauth2', way);
  // The first example of simple-oauth2 sends neither PKCE nor a nonce.
  const change = (block: string) => block.replace(', ...pkce }', ' }').replace(', code_verifier } as never', ' }');
  await trySignIn('simple-oauth2', { ...way, change, sends: neither });
});

byHand('better-auth', npm, () => {
  const post = async (agent: Agent, origin: string, path: string, body: object) => {
    const headers = { 'content-type': 'application/json', origin };
    const answer = await agent.request(`${origin}/api/auth/${path}`, { method: 'POST', body: JSON.stringify(body), headers });
    return agent.get((JSON.parse(answer.body) as { url: string }).url);
  };
  return trySignIn('better-auth', {
    callback: '/api/auth/callback/tenant-idp',
    start: (place) => startInstalled('better-auth', place),
    open: (agent, origin) => post(agent, origin, 'sign-in/social', { provider: 'tenant-idp', callbackURL: '/' }),
    shown: ({ body }) => (JSON.parse(body) as { user: object } | null)?.user,
    signOut: { ask: (agent, origin) => post(agent, origin, 'sign-out', { callbackURL: '/' }), end: '/' },
  });
});

byHand('next-auth 4', npm, async () => {
  const env = (origin: string) => ({
    NEXTAUTH_URL: origin,
    NEXTAUTH_SECRET: 'a secret of the application alone',
    NEXT_TELEMETRY_DISABLED: '1',
  });
  const way: Way = {
    callback: '/api/auth/callback/tenant-idp',
    start: async ({ folder, blocks: [block = ''], port, origin, ...place }) => {
      installPackages(folder, 'next-auth 4', ['react', 'react-dom', '@types/react']);
      checkTypes(folder, block, true);
      mkdirSync(join(folder, 'pages/api/auth'), { recursive: true });
      writeFileSync(join(folder, 'pages/api/auth/[...nextauth].js'), compiled(block));
      const command = ['node', join(folder, 'node_modules/next/dist/bin/next'), 'dev', folder, '-p', `${port}`, '-H', '127.0.0.1'];
      return startProgram(command, { ...place.env, ...env(origin), NODE_ENV: 'development' }, `${origin}/api/auth/session`);
    },
    open: async (agent, origin) => {
      const { csrfToken } = JSON.parse((await agent.get(`${origin}/api/auth/csrf`)).body) as { csrfToken: string };
      return agent.post(`${origin}/api/auth/signin/tenant-idp`, { csrfToken, callbackUrl: `${origin}/api/auth/session` });
    },
    shown: ({ body }) => (JSON.parse(body) as { user?: object }).user,
  };
  await trySignIn('next-auth 4', way);
  // The first example of next-auth sends neither PKCE nor a nonce.
  await trySignIn('next-auth 4', { ...way, change: (block) => block.replace(/^ *checks: .*\n/m, ''), sends: neither });
});
