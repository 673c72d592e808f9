/** A relying party whose libraries run in the browser. Each path answers the same page, which can import installed packages. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join, relative, sep } from 'node:path';
import { testTls } from '../browser/tls.js';

const here = createRequire(import.meta.url);

interface Installed {
  readonly name: string;
  /** The package's folder. */
  readonly folder: string;
  /** The module's path in it. */
  readonly path: string;
}

/** Returns the place of a module that `from` imports. */
function installed(specifier: string, from: NodeJS.Require): Installed {
  const [name = ''] = specifier.split('/');
  const file = from.resolve(specifier);
  const end = file.lastIndexOf(`${sep}${name}${sep}`) + name.length + 1;
  return { name, folder: file.slice(0, end), path: relative(file.slice(0, end), file).replaceAll(sep, '/') };
}

const library = installed('openid-client', here);
const ofLibrary = createRequire(join(library.folder, library.path));
const modules = new Map([
  ['openid-client', library],
  ...['oauth4webapi', 'jose/jwe/compact/decrypt', 'jose/errors'].map((name) => [name, installed(name, ofLibrary)] as const),
]);
const folders = new Map([...modules.values()].map(({ name, folder }) => [name, folder]));
const importMap = {
  imports: Object.fromEntries([...modules].map(([specifier, { name, path }]) => [specifier, `/modules/${name}/${path}`])),
};

/** oidc-client-ts brings a bundle for browsers: the global `oidc`. */
const bundle = join(dirname(here.resolve('oidc-client-ts/package.json')), 'dist/browser/oidc-client-ts.min.js');

const page = `<!doctype html><title>client</title>
<script type="importmap">${JSON.stringify(importMap)}</script>
<script src="/oidc-client-ts.js"></script>
<script>if (location.pathname === '/silent') new oidc.UserManager({}).signinSilentCallback()</script>`;

export interface BrowserClient extends AsyncDisposable {
  /** Origin on another site than a service at 127.0.0.1. */
  readonly origin: string;
  /** Origin on the same site. */
  readonly sameSite: string;
}

export async function serveBrowserClient(): Promise<BrowserClient> {
  const server = createServer(testTls, async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://client.invalid');
    const [, name = '', path = ''] = /^\/modules\/([\w-]+)\/([\w./-]+)$/.exec(pathname) ?? [];
    const folder = folders.get(name);
    const file = pathname === '/oidc-client-ts.js' ? bundle : folder && join(folder, path);
    response.setHeader('content-type', file ? 'text/javascript' : 'text/html; charset=utf-8');
    response.end(file ? await readFile(file) : page);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `https://localhost:${port}`,
    sameSite: `https://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
