/** Applications that are made with libraries for Go: docs/connect-an-application.md. */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from '@jest/globals';
import { byHand, startProgram } from '../servers/outside-programs.js';
import { applicationNamed } from './applications.js';
import { type Place, signOutAfterQuestion, trySignIn, type Way } from './sign-in.js';

const probe = ['go', 'version'];

/** A block's program prints `sub: name <address>`. */
const shown = ({ body }: { body: string }) => {
  const [, name, email] = /^[0-9a-f-]{36}: (.*) <(.*)>\n$/.exec(body) ?? [];
  return { name, email };
};

const versionOf = (name: string): string => `v${applicationNamed(name).triedWith.get(name)}`;

/** Runs the tool on one core, because the tool takes all cores otherwise. */
const go = ({ folder }: Place, args: string, env: Readonly<Record<string, string>> = {}) =>
  void execFileSync('nice', ['go', ...args.split(' ')], { cwd: folder, stdio: 'pipe', env: { ...process.env, GOMAXPROCS: '1', ...env } });

/** Builds a block's program, and starts it. */
const startGo =
  (module: string) =>
  async (place: Place): Promise<ChildProcess> => {
    const { folder, blocks, env, origin } = place;
    writeFileSync(join(folder, 'main.go'), blocks[0] ?? '');
    go(place, 'mod init application');
    go(place, `get ${module}`);
    go(place, 'mod tidy');
    go(place, 'build -o application .');
    // The application uses the secret as a key of AES, which has 32 bytes.
    return startProgram([join(folder, 'application')], { ...env, COOKIE_SECRET: env.COOKIE_SECRET?.slice(0, 32) ?? '' }, origin);
  };

describe('relying parties in Go', () => {
  byHand('go-oidc', probe, async () => {
    const way: Way = { callback: '/callback', start: startGo(`github.com/coreos/go-oidc/v3@${versionOf('go-oidc')}`), shown };
    await trySignIn('go-oidc', way);
    const change = (block: string) =>
      block
        .replace(', oauth2.S256ChallengeOption(verifier)', '')
        .replace(', oauth2.VerifierOption(verifier.Value)', '')
        .replace('verifier, noVerifier :=', '_, noVerifier :=');
    await trySignIn('go-oidc', { ...way, change, sends: { pkce: false, nonce: false } });
  });

  byHand('zitadel/oidc', probe, async () => {
    // The application of this test has no https.
    const unsecure = (block: string) =>
      block.replace('NewCookieHandler(key, key)', 'NewCookieHandler(key, key, httphelper.WithUnsecure())');
    const way: Way = {
      callback: '/callback',
      start: startGo(`github.com/zitadel/oidc/v3@${versionOf('zitadel/oidc')}`),
      change: unsecure,
      shown,
      signOut: { ask: (agent, origin) => agent.get(`${origin}/logout`), end: '/' },
    };
    await trySignIn('zitadel/oidc', way);
    const change = (block: string) => unsecure(block).replace('rp.WithPKCE(cookies)', 'rp.WithCookieHandler(cookies)');
    await trySignIn('zitadel/oidc', { ...way, change, sends: { pkce: false, nonce: false } });
  });

  byHand('oauth2-proxy', probe, async () => {
    let signOutUrl = '';
    const way: Way = {
      callback: '/oauth2/callback',
      start: async (place) => {
        const { folder, blocks, env, port, origin } = place;
        signOutUrl = blocks[1]?.trim() ?? '';
        go(place, `install github.com/oauth2-proxy/oauth2-proxy/v7@${versionOf('oauth2-proxy')}`, { GOBIN: folder });
        const here = `--http-address=127.0.0.1:${port} --cookie-secure=false`;
        const upstream = '--upstream=static://200';
        writeFileSync(join(folder, 'start.sh'), `exec "$PWD"/${blocks[0]?.trim().replace(/--upstream=\S+/, `${upstream} ${here}`)}\n`);
        return startProgram(['sh', '-c', `cd '${folder}' && exec sh start.sh`], env, origin);
      },
      open: (agent, origin) => agent.get(`${origin}/oauth2/start?rd=/oauth2/userinfo`),
      claims: { user: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      signOut: {
        ask: (agent) => signOutAfterQuestion(agent, signOutUrl),
        end: '/',
      },
    };
    await trySignIn('oauth2-proxy', way);
    const change = (block: string) =>
      block
        .replace(' --code-challenge-method=S256', '')
        .replace(' --insecure-oidc-skip-nonce=false', '')
        .replace('--oidc-email-claim=sub ', '');
    const address = { settings: { email: 'first' } as const, claims: { email: 'alice@acme.test' } };
    await trySignIn('oauth2-proxy', { ...way, ...address, change, sends: { pkce: false, nonce: false } });
  });
});
